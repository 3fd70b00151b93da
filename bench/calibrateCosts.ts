/** Fits the cost model to what one device and two devices were measured to take. Pure: it measures nothing itself. */
import type { RoomProgram } from '../runtime/lower/program.ts';
import {
  type DeviceCost,
  type LinkCost,
  localLink,
  referenceDevice,
  scaleDevice,
} from '../runtime/predict/costModel.ts';
import { simulate } from '../runtime/predict/simulate.ts';

export interface MeasuredRun {
  readonly room: RoomProgram;
  readonly ms: number;
}

export interface CalibratedCosts {
  readonly device: DeviceCost;
  /** Two tabs of the machine that was measured. */
  readonly link: LinkCost;
}

/** The input at which a falling or rising function comes to `target`, between two bounds, by their ratio's halves. */
function solve(of: (x: number) => number, target: number, low: number, high: number): number {
  const rises = of(high) > of(low);
  let [a, b] = [low, high];
  for (let i = 0; i < 40; i++) {
    const middle = Math.sqrt(a * b);
    if (of(middle) < target === rises) a = middle;
    else b = middle;
  }
  return Math.sqrt(a * b);
}

/**
 * The device's speed from the run on one; then bandwidth from the division that exchanges most bytes, and what a
 * message costs from the one that exchanges least.
 */
export function calibrateCosts(
  alone: MeasuredRun,
  dense: MeasuredRun | undefined,
  thin: MeasuredRun | undefined,
): CalibratedCosts {
  const time = (room: RoomProgram, device: DeviceCost, link: LinkCost) =>
    simulate(room, { devices: [device], link, host: 0 }).totalMs;
  const device = scaleDevice(referenceDevice, time(alone.room, referenceDevice, localLink) / alone.ms);
  let link = localLink;
  for (let round = 0; round < 3; round++) {
    if (dense !== undefined) {
      const bytesPerMs = solve(
        (x) => time(dense.room, device, { ...link, bytesPerMs: x }),
        dense.ms,
        100,
        1e6,
      );
      link = { ...link, bytesPerMs };
    }
    if (thin !== undefined) {
      const messageMs = solve((x) => time(thin.room, device, { ...link, messageMs: x }), thin.ms, 0.01, 20);
      link = { ...link, messageMs };
    }
  }
  return { device, link };
}
