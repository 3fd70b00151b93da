/** Small figures from many measurements. */
import { type LinkCost, localLink } from '../runtime/predict/costModel.ts';

export interface Spread {
  readonly medianMs: number;
  readonly bestMs: number;
  /** A tenth of the runs was quicker than the first, and a tenth slower than the second. */
  readonly p10Ms: number;
  readonly p90Ms: number;
  readonly runs: number;
}

/** Linear between neighbours; NaN of nothing. */
export function quantile(values: readonly number[], q: number): number {
  const sorted = [...values].sort((a, b) => a - b);
  const at = q * (sorted.length - 1);
  const [low, high] = [sorted[Math.floor(at)], sorted[Math.ceil(at)]];
  if (low === undefined || high === undefined) return Number.NaN;
  return low + (high - low) * (at - Math.floor(at));
}

export function mean(values: readonly number[]): number {
  return values.reduce((sum, value) => sum + value, 0) / values.length;
}

export function median(values: readonly number[]): number {
  return quantile(values, 0.5);
}

export function spreadOf(times: readonly number[]): Spread {
  return {
    medianMs: rounded(median(times)),
    bestMs: rounded(Math.min(...times)),
    p10Ms: rounded(quantile(times, 0.1)),
    p90Ms: rounded(quantile(times, 0.9)),
    runs: times.length,
  };
}

export function rounded(value: number, digits = 2): number {
  return Number(value.toFixed(digits));
}

export interface ExchangeCost {
  readonly bytes: number;
  readonly ms: number;
}

/** What an exchange of so many bytes costs, from measured sizes: linear between two, proportional beyond the last. */
export function exchangeMs(costs: readonly ExchangeCost[], bytes: number): number {
  const sorted = [...costs].sort((a, b) => a.bytes - b.bytes);
  const above = sorted.findIndex((cost) => cost.bytes >= bytes);
  const [first, last] = [sorted[0], sorted.at(-1)];
  if (first === undefined || last === undefined) return Number.NaN;
  if (above === 0) return first.ms;
  const [low, high] = [sorted[above - 1], sorted[above]];
  if (above < 0 || low === undefined || high === undefined) return (last.ms * bytes) / last.bytes;
  return low.ms + ((high.ms - low.ms) * (bytes - low.bytes)) / (high.bytes - low.bytes);
}

/**
 * A link as its bare exchanges were measured: a message costs what the smallest did, and the speed is the geometric mean of
 * what the others got, so that no size counts more than another.
 */
export function linkFrom(costs: readonly ExchangeCost[]): LinkCost {
  const [first, ...others] = [...costs].sort((a, b) => a.bytes - b.bytes);
  if (first === undefined || others.length === 0) return localLink;
  const messageMs = first.ms;
  const logs = others.map(({ bytes, ms }) => Math.log(bytes / (ms - messageMs)));
  const mean = logs.reduce((sum, log) => sum + log, 0) / logs.length;
  return { roundTripMs: 0, messageMs, bytesPerMs: Math.exp(mean) };
}
