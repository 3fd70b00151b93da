/**
 * Two browsers that reach each other and the site only over a link of a chosen speed: each in a network namespace of
 * its own, joined to this process's. Needs Linux, root and a namespace of our own here (see isolatedNetwork.ts).
 */
import { type ChildProcess, execFileSync, spawn } from 'node:child_process';
import { chmodSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type Browser, chromium } from '@playwright/test';
import { chromiumOptions } from '../scripts/browserOptions.ts';

export interface SlowLink {
  /** Of this process, as the two browsers see it. */
  readonly host: string;
  /** Both directions of both ends; null lifts the limit. */
  setSpeed(megabits: number | null): void;
  /** `origin` counts as secure. */
  launch(origin: string): Promise<readonly [Browser, Browser]>;
  close(): void;
}

interface End {
  readonly holder: ChildProcess;
  readonly pid: number;
  /** Names of the interface here and there. */
  readonly here: string;
  readonly there: string;
}

const ip = (...args: string[]) => execFileSync('ip', args, { stdio: ['ignore', 'pipe', 'pipe'] });

function inside(pid: number, command: string, ...args: string[]): void {
  execFileSync('nsenter', ['-t', String(pid), '-n', command, ...args], { stdio: ['ignore', 'pipe', 'pipe'] });
}

/** Throws where this machine does not allow it; the message says what. */
export function createSlowLink(): SlowLink {
  const folder = mkdtempSync(join(tmpdir(), 'starling-link-'));
  const ends: End[] = [];
  const close = () => {
    // The interfaces go with their namespaces.
    for (const { holder } of ends) holder.kill('SIGKILL');
    rmSync(folder, { recursive: true });
  };
  try {
    writeFileSync('/proc/sys/net/ipv4/ip_forward', '1');
    for (const index of [0, 1]) ends.push(createEnd(index));
  } catch (thrown) {
    close();
    throw thrown;
  }
  return {
    host: address(0, 1),
    setSpeed(megabits) {
      for (const { pid, here, there } of ends) {
        const [verb, ...shape] = megabits === null ? ['del'] : ['replace', ...tokenBucket(megabits)];
        const args = ['qdisc', verb, 'dev'];
        const rest = megabits === null ? ['root'] : shape;
        try {
          execFileSync('tc', [...args, here, ...rest], { stdio: 'ignore' });
          inside(pid, 'tc', ...args, there, ...rest);
        } catch (thrown) {
          // There is no limit to lift before the first one.
          if (megabits !== null) throw thrown;
        }
      }
    },
    async launch(origin) {
      const { executablePath = 'chromium', args = [] } = chromiumOptions([
        '--disable-features=WebRtcHideLocalIpsWithMdns',
        `--unsafely-treat-insecure-origin-as-secure=${origin}`,
      ]);
      const [left, right] = await Promise.all(
        ends.map(({ pid }) => {
          const script = join(folder, `chromium-${pid}`);
          writeFileSync(script, `#!/bin/sh\nexec nsenter -t ${pid} -n '${executablePath}' "$@"\n`);
          chmodSync(script, 0o755);
          return chromium.launch({ executablePath: script, args });
        }),
      );
      if (left === undefined || right === undefined) throw new Error('No browser.');
      return [left, right];
    },
    close,
  };
}

function address(end: number, host: number): string {
  return `10.88.${end + 1}.${host}`;
}

function tokenBucket(megabits: number): string[] {
  return ['root', 'tbf', 'rate', `${megabits}mbit`, 'burst', '32kbit', 'latency', '400ms'];
}

function createEnd(index: number): End {
  // A namespace lives as long as a process in it, and this one as long as our end of its pipe: also where we crash.
  const holder = spawn('unshare', ['-n', 'cat'], { stdio: ['pipe', 'ignore', 'ignore'] });
  const pid = holder.pid;
  if (pid === undefined) throw new Error('unshare did not start.');
  waitForNamespace(pid);
  const [here, there] = [`h${index}`, `d${index}`];
  ip('link', 'add', here, 'type', 'veth', 'peer', 'name', there);
  ip('link', 'set', there, 'netns', String(pid));
  ip('addr', 'add', `${address(index, 1)}/24`, 'dev', here);
  ip('link', 'set', here, 'up');
  inside(pid, 'ip', 'link', 'set', 'lo', 'up');
  inside(pid, 'ip', 'addr', 'add', `${address(index, 2)}/24`, 'dev', there);
  inside(pid, 'ip', 'link', 'set', there, 'up');
  inside(pid, 'ip', 'route', 'add', 'default', 'via', address(index, 1));
  return { holder, pid, here, there };
}

/** unshare needs a moment; until then its namespace is still ours. */
function waitForNamespace(pid: number): void {
  const namespaceOf = (who: string) =>
    execFileSync('readlink', [`/proc/${who}/ns/net`], { encoding: 'utf8' });
  const own = namespaceOf(String(process.pid));
  for (let tries = 0; tries < 100; tries++) {
    if (namespaceOf(String(pid)) !== own) return;
    execFileSync('sleep', ['0.02']);
  }
  throw new Error('A network namespace could not be made.');
}
