/**
 * What both knobs together should serve at most: the gain of the one times the gain of the other, corrected by how that
 * turned out where both were tried. Where batches or instances alone have filled the devices, so nothing is hoped for
 * from more of both.
 */
import type { Measured, Measurements } from './measurements.ts';
import type { Setting } from './setting.ts';

/** Where both were never tried together: what they share, as the page's own work per batch, may be saved twice. */
const firstInteraction = 1.15;
/** What was tried may not have been the best case. */
const furtherInteraction = 1.05;

/** Items per second; infinite where too little is known. */
export function jointThroughput(measurements: Measurements, setting: Setting): number {
  return interaction(measurements, setting.threads) * product(measurements, setting);
}

function interaction(measurements: Measurements, threads: number): number {
  const ratios = measurements.all
    .filter(({ setting }) => setting.threads === threads && setting.batch > 1 && setting.instances > 1)
    .map(({ setting, throughput }) => throughput / product(measurements, setting));
  return ratios.length === 0 ? firstInteraction : furtherInteraction * Math.max(...ratios);
}

function product(measurements: Measurements, setting: Setting): number {
  const one = measurements.get({ ...setting, batch: 1, instances: 1 });
  if (one === undefined) return Number.POSITIVE_INFINITY;
  return (
    (single(measurements, setting, 'batch') * single(measurements, setting, 'instances')) / one.throughput
  );
}

/** Throughput with one knob at the setting's value, the other at 1: of the next one measured, or in proportion beyond. */
function single(
  measurements: Measurements,
  { threads, ...setting }: Setting,
  knob: 'batch' | 'instances',
): number {
  const other = knob === 'batch' ? 'instances' : 'batch';
  const value = ({ setting: at }: Measured) => at[knob];
  const points = measurements.all
    .filter(({ setting: at }) => at.threads === threads && at[other] === 1)
    .sort((a, b) => value(a) - value(b));
  const next = points.findIndex((point) => value(point) >= setting[knob]);
  const below = next < 0 ? points : points.slice(0, next + 1);
  const most = Math.max(...below.map(({ throughput }) => throughput));
  const last = points.at(-1);
  return next < 0 && last !== undefined ? (most * setting[knob]) / value(last) : most;
}
