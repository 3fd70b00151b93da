/**
 * What both knobs together should serve at most: the gain of the one times the gain of the other, corrected by how that
 * turned out where both were tried. Where batches or instances alone have filled the devices, so nothing is hoped for
 * from more of both.
 */
import type { Measured, Measurements } from './measurements.ts';
import type { Setting } from './setting.ts';

type Knob = 'batch' | 'instances';

/** Where both were never tried together: what they share, as the page's own work per batch, may be saved twice. */
const firstInteraction = 1.15;
/** What was tried may not have been the best case. */
const furtherInteraction = 1.05;

/** Items per second; infinite where too little is known. */
export function jointThroughput(measurements: Measurements, setting: Setting): number {
  return interaction(measurements, setting.threads) * product(measurements, setting);
}

/** Told only by settings of whose knobs each was measured so far alone: what is continued in proportion is a guess. */
function interaction(measurements: Measurements, threads: number): number {
  const most = (knob: Knob) =>
    Math.max(1, ...singles(measurements, threads, knob).map(({ setting }) => setting[knob]));
  const [batch, instances] = [most('batch'), most('instances')];
  const ratios = measurements.all
    .filter(({ setting }) => setting.threads === threads && setting.batch > 1 && setting.instances > 1)
    .filter(({ setting }) => setting.batch <= batch && setting.instances <= instances)
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
function single(measurements: Measurements, { threads, ...setting }: Setting, knob: Knob): number {
  const points = singles(measurements, threads, knob);
  const next = points.findIndex((point) => point.setting[knob] >= setting[knob]);
  const below = next < 0 ? points : points.slice(0, next + 1);
  const most = Math.max(...below.map(({ throughput }) => throughput));
  const last = points.at(-1);
  return next < 0 && last !== undefined ? (most * setting[knob]) / last.setting[knob] : most;
}

/** In the order of this knob, the other at 1. */
function singles({ all }: Measurements, threads: number, knob: Knob): readonly Measured[] {
  const other = knob === 'batch' ? 'instances' : 'batch';
  return all
    .filter(({ setting }) => setting.threads === threads && setting[other] === 1)
    .sort((a, b) => a.setting[knob] - b.setting[knob]);
}
