import { describe, expect, it } from 'vitest';
import { limits } from '../../protocol/limits.ts';
import type { Clock } from '../clock.ts';
import { startHeartbeat } from './heartbeat.ts';

/** Time that passes when told, with an optional delay of all timers, as in a tab that is held back. */
function manualClock() {
  let time = 0;
  let timers: { at: number; action: () => void }[] = [];
  const clock: Clock = {
    now: () => time,
    after(ms, action) {
      const timer = { at: time + ms, action };
      timers.push(timer);
      return () => {
        timers = timers.filter((other) => other !== timer);
      };
    },
  };
  const pass = (ms: number, stepMs = 50) => {
    for (const end = time + ms; time < end; ) {
      time += stepMs;
      for (const timer of timers.filter(({ at }) => at <= time)) {
        timers = timers.filter((other) => other !== timer);
        timer.action();
      }
    }
  };
  return { clock, pass };
}

function start() {
  const { clock, pass } = manualClock();
  const sent: number[] = [];
  const lost: number[] = [];
  const heartbeat = startHeartbeat({ clock, send: (n) => sent.push(n), onLost: (ms) => lost.push(ms) });
  return { heartbeat, pass, sent, lost };
}

describe('a heartbeat', () => {
  it('beats once a second and measures the round trip', () => {
    const { heartbeat, pass, sent } = start();
    pass(3 * limits.heartbeatMs);
    expect(sent).toEqual([1, 2, 3, 4]);
    expect(heartbeat.roundTripMs).toBeNull();
    pass(150);
    heartbeat.echo(3);
    expect(heartbeat.roundTripMs).toBeNull();
    heartbeat.echo(4);
    expect(heartbeat.roundTripMs).toBe(150);
  });

  it('is lost once, after the silence that is allowed, and stops', () => {
    const { heartbeat, pass, sent, lost } = start();
    pass(4000);
    heartbeat.heard();
    pass(limits.heartbeatLostMs - 100);
    expect(lost).toEqual([]);
    pass(limits.heartbeatMs + 100);
    expect(lost).toHaveLength(1);
    expect(lost[0]).toBeGreaterThanOrEqual(limits.heartbeatLostMs);
    const beats = sent.length;
    pass(60_000);
    expect([lost.length, sent.length]).toEqual([1, beats]);
  });

  it('is lost sooner where there is doubt, unless something is heard', () => {
    const doubted = start();
    doubted.heartbeat.doubt();
    doubted.pass(3 * limits.heartbeatMs);
    expect(doubted.lost).toHaveLength(1);
    const answered = start();
    answered.heartbeat.doubt();
    answered.pass(500);
    answered.heartbeat.heard();
    answered.pass(4 * limits.heartbeatMs);
    expect(answered.lost).toEqual([]);
  });

  it('blames nobody for the time in which this page itself was frozen', () => {
    const { pass, lost } = start();
    pass(60_000, 60_000);
    pass(limits.heartbeatLostMs - limits.heartbeatMs);
    expect(lost).toEqual([]);
    pass(2 * limits.heartbeatMs);
    expect(lost).toHaveLength(1);
  });

  it('says nothing after its end', () => {
    const { heartbeat, pass, sent, lost } = start();
    heartbeat.stop();
    pass(20_000);
    expect([sent, lost]).toEqual([[1], []]);
  });
});
