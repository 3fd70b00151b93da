/**
 * What a device does next, as host and as any other, and what it lets the others know of that: functions of the whole
 * state, called after every event until they change nothing. What the parts of the state mean is in their own files.
 */
import { StarlingError } from '../../protocol/errors.ts';
import { limits } from '../../protocol/limits.ts';
import type { Placement } from '../../protocol/roomMessages.ts';
import type { Epochs } from './epochs.ts';
import type { Follower } from './follower.ts';
import type { HostRole } from './hostRole.ts';
import type { PageSession } from './pageSession.ts';
import type { RunLoop } from './runLoop.ts';
import type { Sessions } from './sessions.ts';
import type { StallWatch } from './stallWatch.ts';

export interface Parts {
  readonly self: string;
  readonly follower: Follower;
  readonly epochs: Epochs;
  readonly role: HostRole;
  readonly runs: RunLoop;
  readonly sessions: Sessions;
  readonly stall: StallWatch;
}

export function stepAsOther(parts: Parts): void {
  const { epochs, role, runs, sessions, follower } = parts;
  runs.interrupt();
  const session = sessions.current;
  if (session === null || session.failed) return;
  const { load, plan } = follower;
  if (epochs.hostPresent && session.summary === null && !sessions.wantsOther(session, epochs.placement)) {
    if (load?.phase === 'ready' && plan !== null) {
      // Of several plans, the one that the room has already.
      session.url = plan.url;
      session.succeed(plan.summary);
    } else if (load?.phase === 'failed') sessions.fail(session);
  }
  if (sessions.opening || !role.mayTake(claims(parts))) return;
  if (plan?.url !== session.url) {
    sessions.open(session);
    return;
  }
  const decision = epochs.decide(session.urls);
  if (decision instanceof StarlingError) sessions.fail(session, decision);
  // Another plan is opened first.
  else if (decision !== null && !sessions.turnTo(session, decision.url)) role.take(decision);
}

export function stepAsHost(parts: Parts): void {
  const { epochs, role, runs, sessions, follower } = parts;
  const session = sessions.current;
  const { placement } = epochs;
  if (placement === null || session === null || session.failed) {
    runs.interrupt();
    return;
  }
  const opened = follower.plan?.url === session.url ? follower.plan : null;
  const ours = opened?.summary.sha256 === placement.plan.sha256;
  // A device that could not load another plan, such as one that was called off while it was sent, may well load ours.
  if (ours) epochs.excludeFailed(placement);
  const sound = ours && epochs.stands(placement);
  if (runs.running) {
    if (!sound || runs.abandoned) runs.interrupt();
    return;
  }
  if (opened === null) {
    if (!sessions.opening) sessions.open(session);
    return;
  }
  if (sound && !epochs.isLoaded(placement)) {
    if (follower.load?.phase === 'failed') sessions.fail(session);
    else leaveStalledOut(parts, placement, session);
    return;
  }
  if (sound) session.succeed(opened.summary);
  // Whoever joined while the last load or run was going on is taken up here, before the next run.
  const decision = epochs.decide(session.urls);
  if (decision instanceof StarlingError) {
    sessions.fail(session, decision);
    return;
  }
  if (decision !== null && sessions.turnTo(session, decision.url)) return;
  if (!sound || (decision !== null && !epochs.isUpToDate(placement, decision))) {
    if (decision !== null) epochs.announce(decision);
    return;
  }
  if (runs.mayStart() && !role.yields()) runs.startNext(placement);
}

function leaveStalledOut(
  { self, epochs, sessions, stall }: Parts,
  placement: Placement,
  session: PageSession,
): void {
  const message = `Loading its shards made no progress for ${limits.loadStallMs / 1000} s.`;
  for (const id of stall.stalled(placement)) {
    if (id === self) sessions.fail(session, new StarlingError('SESSION_FAILED', message));
    else epochs.exclude(id, { code: 'SESSION_FAILED', message });
  }
}

/** Whether this device, not being host, waits for the role: it has runs, or a plan that is not the room's. */
export function claims({ epochs, runs, sessions }: Parts): boolean {
  const session = sessions.current;
  if (session === null || session.failed || epochs.isHost || !epochs.hostPresent) return false;
  return runs.waiting > 0 || (session.summary === null && sessions.wantsOther(session, epochs.placement));
}

/** Whether this device, being host, keeps the role from those that wait for it. */
export function isBusy({ epochs, role, runs, sessions }: Parts): boolean {
  const session = sessions.current;
  const { placement } = epochs;
  if (!epochs.isHost || session === null) return false;
  if (runs.running) return true;
  if (session.failed || placement === null) return false;
  if (!epochs.isLoaded(placement)) return true;
  return !runs.isIdle() && !role.yields();
}
