/** The demo page: joins the room that its address names, loads a plan, and shows both. Each part is a file of its own. */
/// <reference path="./style.d.ts" />
import './style.css';
import { StarlingError } from '../../protocol/errors.ts';
import { systemClock } from '../clock.ts';
import { joinRoom, type LoadOptions, type Room, type RoomEvent, type Session } from '../index.ts';
import { WorkerRestarts } from '../workerRestarts.ts';
import { type DemoTask, privateRoom, readAddress, roomAddress, taskAddress } from './address.ts';
import { createClassifyPanel } from './classify/classifyPanel.ts';
import { createClassifyPlans } from './classify/classifyPlans.ts';
import { byId } from './createElement.ts';
import { createDevicesPanel } from './devicesPanel.ts';
import { createMessages } from './messages.ts';
import { createModelPanel } from './modelPanel.ts';
import { showNotices } from './notices.ts';
import { createRequestsPanel } from './requests/requestsPanel.ts';
import { showRoomPanel } from './roomPanel.ts';
import { createTaskChoice } from './taskChoice.ts';
import { createTimelinePanel } from './timelinePanel.ts';
import { createWorkspace } from './workspace.ts';

interface Membership {
  readonly room: Promise<Room>;
  readonly session: Promise<Session>;
}

declare global {
  /** For the console: this page's room and session. */
  var starling: Membership;
}

const address = readAddress(location.href);
const messages = createMessages(byId('messages'));
const devicesPanel = createDevicesPanel(byId('devices'));
const timelinePanel = createTimelinePanel(byId('timeline'));

let current: Membership;
/** Where the session's plan lies; null of a model that a person brought, which no server has. */
let source: readonly string[] | null = address.plan;
const workerRestarts = new WorkerRestarts(systemClock);
const modelPanel = createModelPanel(byId('model'), {
  messages,
  room: () => current.room,
  onOpen() {
    workspace.reset();
    classifyPanel.close();
    for (const id of ['workspace', 'tasks']) byId(id).hidden = true;
  },
  onSession(session) {
    source = null;
    take({ room: current.room, session });
  },
  onClose(replaced) {
    byId('tasks').hidden = false;
    if (replaced) source = [];
    showTask(tasks.task);
  },
});
const workspace = createWorkspace(byId('workspace'), {
  messages,
  session: () => current.session,
  claim: (files) => modelPanel.take(files) || (files[0] !== undefined && classifyPanel.take(files[0].file)),
});
const classifyPlans = createClassifyPlans(new URL('./models/cifar10/catalogue.json', location.href).href, {
  devices: async () => (await current.room).devices.length,
  session: (plan) => (source?.join() === plan ? current.session : load([plan])),
  isLoaded: (plan) => source?.join() === plan,
});
const classifyPanel = createClassifyPanel(byId('classify'), { messages, ...classifyPlans });
createRequestsPanel(byId('requests'), {
  load(slo) {
    const session = loadAgain({ slo });
    take({ room: current.room, session });
    return session;
  },
  onError: (thrown) => messages.error(thrown),
});
const tasks = createTaskChoice(byId('tasks'), address.task, (task) => {
  history.replaceState(null, '', taskAddress(location.href, task));
  showRoom();
  showTask(task);
});
// A checkout where the networks that classify are not made yet has the other one to show.
classifyPlans.catalogue().catch(() => tasks.withdraw('classify'));
showRoom();

const surroundings = {
  secure: globalThis.isSecureContext,
  isolated: globalThis.crossOriginIsolated,
  webgpu: 'gpu' in navigator,
};

function enter(): void {
  const room = joinRoom({
    signaling: new URL('.', location.href),
    room: address.room,
    secret: address.secret ?? undefined,
    backend: address.backend,
    threads: address.threads ?? undefined,
    devices: address.devices,
    memoryLimitBytes: address.memoryLimitBytes ?? undefined,
  });
  source = [];
  current = { room, session: new Promise(() => undefined) };
  showTask(tasks.task);
  room.then(listen, (thrown: unknown) =>
    showNotices(byId('notices'), surroundings, `nothing: ${StarlingError.from(thrown, 'INTERNAL').message}`),
  );
}

/** One of the page's own networks takes the place of the other. */
function showTask(task: DemoTask): void {
  byId('workspace').hidden = task !== 'upscale';
  if (task === 'classify') {
    workspace.reset();
    classifyPanel.open();
    return;
  }
  classifyPanel.close();
  if (source?.join() !== address.plan.join()) load(address.plan);
}

function load(plans: readonly string[]): Promise<Session> {
  const { room } = current;
  source = plans;
  take({ room, session: room.then((joined) => joined.load(plans)) });
  return current.session;
}

/** What the room runs now, with other wishes. */
async function loadAgain(options: LoadOptions): Promise<Session> {
  const { room, session } = current;
  const { sha256 } = (await session).plan;
  return (await room).load(source ?? { sha256 }, options);
}

function take(next: Membership): void {
  current = next;
  globalThis.starling = next;
  next.session.catch((thrown: unknown) => {
    // Of a room or a plan that is not the page's any more, enough has been said.
    if (current !== next) return;
    source = [];
    messages.error(thrown);
  });
}

function showRoom(): void {
  showRoomPanel(byId('room'), {
    room: address.room,
    link: roomAddress(location.href, address.room, address.secret),
    trust: address.secret === null ? 'server' : 'secret',
    onPrivateRoom() {
      const made = privateRoom((bytes) => crypto.getRandomValues(bytes));
      const next = roomAddress(location.href, made.room, made.secret);
      location.assign(next);
      // A change of the fragment alone would not load the page.
      if (new URL(next).search === location.search) location.reload();
    },
  });
}

function listen(joined: Room): void {
  showNotices(byId('notices'), surroundings, joined.backend.reason);
  const show = () => {
    const { devices } = joined;
    devicesPanel.show(
      devices,
      devices.reduce((sum, { shards }) => sum + shards.length, 0),
    );
    // Another page may be the host by now: what this one found then explains nothing any more.
    devicesPanel.explain(joined.placement?.reason ?? '');
  };
  joined.on('devices', show);
  joined.on('placement', show);
  joined.on('run', (event) => tellOfRun(event, joined));
  joined.on('signaling', ({ state, message }) => {
    if (state === 'reconnecting') messages.error(new StarlingError('SIGNALING_UNREACHABLE', message));
    else messages.clear('SIGNALING_UNREACHABLE');
  });
  joined.on('left', ({ reason }) => {
    const again = workerRestarts.allow(reason);
    const sentence = again ? `${reason.message} A new one takes its place.` : reason.message;
    messages.error(new StarlingError(reason.code, sentence));
    if (!again) return;
    modelPanel.close();
    enter();
  });
  show();
}

function tellOfRun(event: Extract<RoomEvent, { type: 'run' }>, { devices }: Room): void {
  if (event.phase === 'finished') timelinePanel.show(event.outcome, devices);
  if (event.phase === 'interrupted')
    workspace.tell('A device is gone; the tile starts again on those that are left.');
}

// Out of the browser's back-forward cache: the room was left when the page was hidden.
addEventListener('pageshow', (event) => {
  if (event.persisted) location.reload();
});

enter();
