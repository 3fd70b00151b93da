/** What a coordinator is given by its page, what it tells, and what it shows. Types only. */
import type { StarlingError } from '../../protocol/errors.ts';
import type { DeviceStatus, ErrorMessage, Placement, RoomMessage } from '../../protocol/roomMessages.ts';
import type { DeviceApi, PlanSummary } from '../../workers/api.ts';
import type { PlacementChoice } from '../choosePlacement.ts';
import type { Clock } from '../clock.ts';
import type { PlanPlace } from '../planAddresses.ts';
import type { FollowerOptions } from './follower.ts';
import type { DeviceChoice } from './placer.ts';
import type { RunOutcome } from './runQueue.ts';

export type CoordinatedDevice = Pick<
  DeviceApi,
  'openPlan' | 'load' | 'run' | 'abort' | 'measureLink' | 'forecast'
>;

export interface CoordinatorPorts {
  readonly self: string;
  readonly device: CoordinatedDevice;
  readonly clock: Clock;
  /** Which devices a plan that is loaded runs on, until its page says otherwise. */
  readonly devices: DeviceChoice;
  /** To one connected device; what cannot be sent is lost with its connection. */
  send(to: string, message: RoomMessage): void;
  readonly planAddresses: FollowerOptions['planAddresses'];
  /** How the others find a plan that this page reads at `url`. */
  describePlan(url: string): PlanPlace;
  /** Something that `state` shows may have changed. */
  onChange(): void;
  onRun(event: RunEvent): void;
}

export type RunEvent =
  | { readonly phase: 'started'; readonly devices: number; readonly waiting: number }
  | { readonly phase: 'interrupted'; readonly reason: string }
  | { readonly phase: 'finished'; readonly outcome: RunOutcome }
  | { readonly phase: 'failed'; readonly error: StarlingError };

export interface CoordinatorState {
  readonly placement: Placement | null;
  /** The host is there (or this device). */
  readonly hostPresent: boolean;
  readonly own: DeviceStatus;
  readonly others: ReadonlyMap<string, DeviceStatus | null>;
  readonly excluded: ReadonlyMap<string, ErrorMessage>;
  readonly plan: PlanSummary | null;
  /** Why the placement is as it is; null where nothing was measured for it, and on devices that are not host. */
  readonly choice: PlacementChoice | null;
  readonly waitingRuns: number;
  readonly running: boolean;
}
