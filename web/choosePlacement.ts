/**
 * Takes one of the placements whose runs were predicted: the fastest that fits every device's memory, with a lead for
 * one device alone and for what is loaded already, and says why. A pure function; when it is asked is the placer's.
 */
import { StarlingError } from '../protocol/errors.ts';
import type { PlanForecast } from '../workers/api.ts';

/** Another placement must save so much, or one device alone, and what is loaded, stay. */
const worthwhile = 0.95;

export interface ChoiceContext {
  readonly host: string;
  /** Heaps that devices may have at most; null for no limit. */
  readonly limitOf: (id: string) => number | null;
  /** Time of runs as they were measured, by placementKey; it counts more than what was predicted. */
  readonly observedMs: ReadonlyMap<string, number>;
  /** The placementKey of what is loaded now. */
  readonly current: string | null;
  readonly nameOf: (id: string) => string;
}

export interface PlacementChoice {
  readonly forecast: PlanForecast;
  /** What a run is expected to take, and, for comparison, on the host alone and on the best group of devices. */
  readonly expectedMs: number;
  readonly aloneMs: number | null;
  readonly togetherMs: number | null;
  /** Sentences for people. */
  readonly reason: string;
}

export function placementKey({
  sha256,
  devices,
  shards,
}: Pick<PlanForecast, 'sha256' | 'devices' | 'shards'>): string {
  return JSON.stringify([sha256, devices, shards]);
}

/** Devices of a placement that hold shards. */
export function holders({ devices, shards }: Pick<PlanForecast, 'devices' | 'shards'>): string[] {
  return devices.filter((_, i) => (shards[i]?.length ?? 0) > 0);
}

/** A MEMORY_LIMIT error where no placement fits. */
export function choosePlacement(
  forecasts: readonly PlanForecast[],
  context: ChoiceContext,
): PlacementChoice | StarlingError {
  const { host, observedMs, current, limitOf } = context;
  const msOf = (forecast: PlanForecast) => observedMs.get(placementKey(forecast)) ?? forecast.totalMs;
  const fits = ({ devices, heapBytes }: PlanForecast) =>
    devices.every((id, i) => (heapBytes[i] ?? 0) <= (limitOf(id) ?? Number.POSITIVE_INFINITY));
  const fastest = (some: readonly PlanForecast[]) =>
    some.reduce<PlanForecast | undefined>(
      (best, one) => (best === undefined || msOf(one) < msOf(best) ? one : best),
      undefined,
    );
  const fitting = forecasts.filter(fits);
  const isAlone = (forecast: PlanForecast) => holders(forecast).join() === host;
  const alone = fastest(fitting.filter(isAlone));
  const together = fastest(fitting.filter((one) => !isAlone(one)));
  const loaded = fitting.find((one) => placementKey(one) === current);
  const best = fastest(fitting);
  if (best === undefined) return nothingFits(forecasts, context);
  let chosen = best;
  if (alone !== undefined && msOf(best) > msOf(alone) * worthwhile) chosen = alone;
  if (loaded !== undefined && msOf(chosen) > msOf(loaded) * worthwhile) chosen = loaded;
  const isBig = alone === undefined && forecasts.some(isAlone);
  const left = new Set(forecasts.flatMap(({ devices }) => devices));
  for (const id of holders(chosen)) left.delete(id);
  left.delete(host);
  const choice = {
    forecast: chosen,
    expectedMs: msOf(chosen),
    aloneMs: alone === undefined ? null : msOf(alone),
    togetherMs: together === undefined ? null : msOf(together),
  };
  return { ...choice, reason: reasonOf(choice, together, { isBig, left: [...left], ...context }) };
}

function reasonOf(
  { forecast, expectedMs, aloneMs, togetherMs }: Omit<PlacementChoice, 'reason'>,
  together: PlanForecast | undefined,
  {
    isBig,
    left,
    host,
    nameOf,
  }: ChoiceContext & { readonly isBig: boolean; readonly left: readonly string[] },
): string {
  const who = holders(forecast);
  if (together === undefined || togetherMs === null) return 'This device has the room to itself.';
  if (who.length === 1 && who[0] === host && aloneMs !== null) {
    const others = holders(together);
    if (others.length === 1)
      return `One device alone is faster: ${time(aloneMs)} here, ${time(togetherMs)} on ${nameOf(others[0] ?? '')}.`;
    return `One device alone is faster: ${time(aloneMs)} against ${time(togetherMs)} on ${others.length} devices, which would exchange ${bytes(together.bytes)} in ${together.rounds} rounds.`;
  }
  const than = isBig
    ? ', and the model does not fit one'
    : aloneMs === null
      ? ''
      : ` against ${time(aloneMs)} on this device alone`;
  const names = left.map(nameOf);
  const without =
    names.length === 0
      ? ''
      : ` ${names.join(' and ')} would slow it down and ${names.length === 1 ? 'gets' : 'get'} no shard.`;
  if (who.length === 1)
    return `${nameOf(who[0] ?? '')} computes alone: ${time(expectedMs)}${than}.${without}`;
  return `${who.length} devices, divided by ${forecast.axis}: ${time(expectedMs)}${than}.${without}`;
}

function nothingFits(forecasts: readonly PlanForecast[], { limitOf, nameOf }: ChoiceContext): StarlingError {
  /** How far a placement is over the limits, where it is worst. */
  const worst = ({ devices, heapBytes }: PlanForecast) =>
    devices
      .map((id, i) => ({ id, bytes: heapBytes[i] ?? 0, limit: limitOf(id) ?? Number.POSITIVE_INFINITY }))
      .reduce((a, b) => (b.bytes / b.limit > a.bytes / a.limit ? b : a));
  const nearest = forecasts
    .map((forecast) => ({ forecast, over: worst(forecast) }))
    .sort((a, b) => a.over.bytes / a.over.limit - b.over.bytes / b.over.limit)[0];
  if (nearest === undefined) return new StarlingError('PLACEMENT_INVALID', 'There is no plan to place.');
  const { over, forecast } = nearest;
  const count = holders(forecast).length;
  return new StarlingError(
    'MEMORY_LIMIT',
    `The model fits no placement: the nearest, on ${count} ${count === 1 ? 'device' : 'devices'}, needs about ${bytes(over.bytes)} on ${nameOf(over.id)}, whose limit is ${bytes(over.limit)}; let more devices join, raise the limit, or compile it into more shards by channels.`,
  );
}

function time(ms: number): string {
  return `${ms < 10 ? ms.toFixed(1) : ms.toFixed(0)} ms`;
}

function bytes(count: number): string {
  return count < 1e6 ? `${(count / 1e3).toFixed(0)} kB` : `${(count / 1e6).toFixed(1)} MB`;
}
