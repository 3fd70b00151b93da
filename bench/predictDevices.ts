/**
 * What more devices than were measured would bring: the cost model, calibrated on the runs of one and of two tabs in
 * bench/results/bench.json, plays divisions for 1, 2, 4 and 8 devices over Wi-Fi and a cable. A prediction, no measurement.
 *
 *   npm run predict:devices -- [--models resnet50,esrgan-slim] [--axes rows,channels] [--devices 1,2,4,8] [--json FILE|-]
 */

import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { createHeapBackend } from '../backends/ortHeap.ts';
import { chooseDivision } from '../compiler/divide/chooseDivision.ts';
import { divideByChannels } from '../compiler/divide/divideChannels.ts';
import type { DividedGraph } from '../compiler/divide/dividedGraph.ts';
import { divideByRows } from '../compiler/divide/divideRows.ts';
import { normaliseModel } from '../compiler/normalise/normaliseModel.ts';
import { pixelEnds } from '../compiler/pixels.ts';
import type { Graph } from '../graph/graph.ts';
import { loadModel } from '../graph/load.ts';
import type { DivisionAxis } from '../protocol/compileChoices.ts';
import { lower } from '../runtime/lower/lower.ts';
import { oneShardEach } from '../runtime/lower/placements.ts';
import type { RoomProgram } from '../runtime/lower/program.ts';
import { type LinkCost, linkOver } from '../runtime/predict/costModel.ts';
import { simulate } from '../runtime/predict/simulate.ts';
import { type CalibratedCosts, calibrateCosts, type MeasuredRun } from './calibrateCosts.ts';
import { rounded } from './figures.ts';
import { describeCommit } from './machine.ts';
import { type BenchModel, benchModels } from './models.ts';

/** Bandwidth and round trip; what a message costs on the devices is what was measured. */
const links: Readonly<Record<string, Pick<LinkCost, 'bytesPerMs' | 'roundTripMs'>>> = {
  'Wi-Fi (20 Mbit/s, 3 ms)': { bytesPerMs: 2_500, roundTripMs: 3 },
  'gigabit (1000 Mbit/s, 0.3 ms)': { bytesPerMs: 125_000, roundTripMs: 0.3 },
};

const measuredPath = fileURLToPath(new URL('./results/bench.json', import.meta.url));
interface Measured {
  readonly commit: string;
  readonly date: string;
  readonly models: readonly {
    readonly model: string;
    readonly results: readonly {
      readonly scenario: {
        readonly kind: string;
        readonly division?: string;
        readonly axis?: string;
        readonly link?: string;
      };
      readonly medianMs: number;
    }[];
  }[];
}

const { values } = parseArgs({
  options: {
    models: { type: 'string', default: 'resnet50,esrgan-slim' },
    axes: { type: 'string', default: 'rows,channels' },
    devices: { type: 'string', default: '1,2,4,8' },
    json: { type: 'string' },
  },
});

function medianOf(measured: Measured, model: string, kind: string, axis?: string): number | undefined {
  const results = measured.models.find((one) => one.model === model)?.results ?? [];
  return results.find(
    ({ scenario }) =>
      scenario.kind === kind &&
      (axis === undefined || (scenario.division ?? scenario.axis) === axis) &&
      (scenario.link ?? 'unshaped') === 'unshaped',
  )?.medianMs;
}

function divided(
  graph: Graph,
  axis: DivisionAxis,
  numShards: number,
  { device }: CalibratedCosts,
  link: LinkCost,
): DividedGraph {
  if (axis === 'rows') return divideByRows(graph, numShards);
  if (axis === 'channels') return { graph, division: divideByChannels(graph, numShards) };
  return chooseDivision(graph, numShards, { devices: [device], link, host: 0 }, false);
}

const apart = ({ graph, division }: DividedGraph): RoomProgram =>
  lower(graph, division, oneShardEach(division.numShards));

function calibrate(graph: Graph, model: BenchModel, measured: Measured): CalibratedCosts {
  const aloneMs = medianOf(measured, model.id, 'plain');
  if (aloneMs === undefined) {
    throw new Error(
      `bench/results/bench.json has no run of ${model.id} on one tab: npm run bench -- --models ${model.id}.`,
    );
  }
  const alone = { room: lower(graph, { numShards: 1, shardings: new Map() }, [[0]]), ms: aloneMs };
  const twoTabs = (axis: string, one: DividedGraph): MeasuredRun | undefined => {
    const ms = medianOf(measured, model.id, 'two-tabs', axis);
    return ms === undefined ? undefined : { room: apart(one), ms };
  };
  return calibrateCosts(
    alone,
    twoTabs('channels', { graph, division: divideByChannels(graph, 2) }),
    twoTabs('rows', divideByRows(graph, 2)),
  );
}

const measured = JSON.parse(readFileSync(measuredPath, 'utf8')) as Measured;
const axes = values.axes.split(',') as DivisionAxis[];
const counts = values.devices.split(',').map(Number);
const backend = await createHeapBackend();
const rows = [];
const calibrations = [];
for (const id of values.models.split(',')) {
  const model = benchModels.find((one) => one.id === id);
  if (model === undefined) throw new Error(`Expected --models of ${benchModels.map((one) => one.id)}.`);
  const shapes = { [model.input.name]: model.input.dims };
  const normalised = await normaliseModel(loadModel(await model.bytes()), { backend, shapes });
  const { graph } = pixelEnds(normalised.model, model.pixels);
  const costs = calibrate(graph, model, measured);
  calibrations.push({
    model: id,
    macsPerMs: rounded(costs.device.macsPerMs),
    messageMs: rounded(costs.link.messageMs, 3),
    bytesPerMs: rounded(costs.link.bytesPerMs),
  });
  const oneMs = medianOf(measured, id, 'plain') ?? Number.NaN;
  for (const [name, given] of Object.entries(links)) {
    const link = linkOver(given, costs.link);
    for (const devices of counts.filter((count) => count > 1)) {
      const played = axes.map((axis) => {
        const room = apart(divided(graph, axis, devices, costs, link));
        const { totalMs, bytes } = simulate(room, { devices: [costs.device], link, host: 0 });
        return { axis, ms: rounded(totalMs), bytes, rounds: room.rounds };
      });
      const best = played.reduce((a, b) => (b.ms < a.ms ? b : a));
      const row = {
        model: id,
        title: model.title,
        link: name,
        devices,
        oneMs: rounded(oneMs),
        ...best,
        all: played,
      };
      rows.push(row);
      console.log(
        `${id.padEnd(12)} ${name.padEnd(30)} ${devices} devices: ${best.axis} ${best.ms} ms, one ${row.oneMs} ms, ${(oneMs / best.ms).toFixed(2)} x  (${played.map(({ axis, ms }) => `${axis} ${ms}`).join(', ')})`,
      );
    }
  }
}
if (values.json !== undefined) {
  const measuredOn = { commit: measured.commit, date: measured.date };
  const text = `${JSON.stringify({ date: new Date().toISOString(), ...describeCommit(), prediction: true, measuredOn, calibrations, rows }, null, 1)}\n`;
  if (values.json === '-') console.log(text);
  else {
    mkdirSync(dirname(values.json), { recursive: true });
    writeFileSync(values.json, text);
  }
}
