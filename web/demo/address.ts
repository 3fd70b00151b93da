/**
 * What the page's address says: room, plans, backend, devices; and in the fragment, which no server sees, the room's secret.
 * Pure: it reads no location and changes none.
 */
import type { BackendKind } from '../../protocol/backendInfo.ts';
import type { DeviceChoice } from '../index.ts';

export interface PageAddress {
  readonly room: string;
  readonly secret: string | null;
  /** Of several, the best for the room is taken. */
  readonly plan: readonly string[];
  readonly backend: BackendKind | 'auto';
  readonly devices: DeviceChoice;
  readonly memoryLimitBytes: number | null;
  /** Null: the library's choice. */
  readonly threads: number | null;
  /** What is shown first. */
  readonly task: DemoTask;
}

/** What the page's networks do: make pictures larger, or say what they show. */
export const demoTasks = ['upscale', 'classify'] as const;
export type DemoTask = (typeof demoTasks)[number];

/** Where everybody meets who opens the server's address as it is. */
export const lobby = 'lobby';
const defaultPlan = './models/esrgan-slim-x4/plan.json';

export function readAddress(href: string): PageAddress {
  const url = new URL(href);
  const { searchParams } = url;
  const fragment = new URLSearchParams(url.hash.slice(1));
  const backend = searchParams.get('backend');
  const threads = Number(searchParams.get('threads'));
  const devices = searchParams.get('devices');
  const memory = Number(searchParams.get('memory'));
  const plans = searchParams.getAll('plan').filter((plan) => plan !== '');
  return {
    room: searchParams.get('room') || lobby,
    secret: fragment.get('secret') || null,
    plan: (plans.length === 0 ? [defaultPlan] : plans).map((plan) => new URL(plan, url).href),
    backend: backend === 'wasm' || backend === 'webgpu' ? backend : 'auto',
    devices: devices === 'all' || devices === 'own' ? devices : 'best',
    // In MiB: what a phone gives a page.
    memoryLimitBytes: memory > 0 ? memory * 2 ** 20 : null,
    threads: Number.isInteger(threads) && threads > 0 ? threads : null,
    task: demoTasks.find((task) => task === searchParams.get('task')) ?? 'upscale',
  };
}

/** The same page with another task shown first; `upscale` needs no word. */
export function taskAddress(href: string, task: DemoTask): string {
  const url = new URL(href);
  if (task === 'upscale') url.searchParams.delete('task');
  else url.searchParams.set('task', task);
  return url.href;
}

/** The address that brings another device into a room; what else the page was opened with stays. */
export function roomAddress(href: string, room: string, secret: string | null): string {
  const url = new URL(href);
  url.searchParams.set('room', room);
  url.hash = secret === null ? '' : new URLSearchParams({ secret }).toString();
  return url.href;
}

/** A room that nobody guesses, with a secret that the signaling server does not see. */
export function privateRoom(random: (bytes: Uint8Array<ArrayBuffer>) => Uint8Array): {
  room: string;
  secret: string;
} {
  const [first = 0, second = 0, ...digits] = random(new Uint8Array(5));
  const number = digits.map((byte) => byte % 10).join('');
  const word = (words: readonly string[], byte: number) => words[byte % words.length] ?? '';
  const secret = [...random(new Uint8Array(16))].map((byte) => byte.toString(16).padStart(2, '0')).join('');
  return { room: `${word(moods, first)}-${word(places, second)}-${number}`, secret };
}

const moods = ['quiet', 'amber', 'early', 'gentle', 'silver', 'misty', 'bright', 'wide', 'calm', 'northern'];
const places = [
  'river',
  'meadow',
  'harbour',
  'orchard',
  'valley',
  'marsh',
  'island',
  'hill',
  'grove',
  'coast',
];
