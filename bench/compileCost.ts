/**
 * What compiling costs: time, processor time and memory of one compilation, in Node (a process of its own each time)
 * and in the Worker that compiles a dropped model in Chromium. Prints a table and writes JSON.
 *
 *   npm run bench:compile -- [--models esrgan-thick,resnet50] [--places node,browser] [--runs 3] [--json FILE|-]
 */
import { execFileSync } from 'node:child_process';
import { mkdirSync, writeFileSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { type Browser, chromium } from '@playwright/test';
import { createHeapBackend } from '../backends/ortHeap.ts';
import { readBytes } from '../cli/files.ts';
import { formatTable } from '../cli/table.ts';
import { compileModel } from '../compiler/compile.ts';
import { chromiumOptions } from '../scripts/browserOptions.ts';
import { readSharedModel } from '../tests/support/shared.ts';
import { median, rounded } from './figures.ts';
import { describeCommit, describeMachine, loadAverage } from './machine.ts';
import { type BenchModel, benchModels } from './models.ts';
import { watchPeak } from './processMemory.ts';
import { type BenchSite, serveBenchSite } from './site.ts';

const numShards = 2;
const axis = 'channels';

interface Cost {
  readonly ms: number;
  /** Of the process that compiles; null where it does other work too. */
  readonly cpuMs: number | null;
  /** Most memory of that process beyond what it had before. */
  readonly peakBytes: number | null;
}

type CompiledModel = Pick<BenchModel, 'id' | 'title' | 'input' | 'bytes'>;

/** So small that what it takes is taken for any model: a Worker, its code and its heap. */
const smallest: CompiledModel = {
  id: 'espcn',
  title: 'espcn at 24 x 20',
  input: { name: 'input', dims: [1, 1, 24, 20] },
  bytes: async () => readSharedModel('espcn-x3.onnx'),
};

interface Measurement {
  readonly model: string;
  readonly title: string;
  readonly place: 'node' | 'browser';
  readonly fileBytes: number;
  readonly medianMs: number;
  readonly medianCpuMs: number | null;
  readonly mostPeakBytes: number | null;
  /** The same of the smallest model: what compiling anything takes. */
  readonly fixedBytes: number | null;
  readonly runs: readonly Cost[];
}

const { values } = parseArgs({
  options: {
    models: { type: 'string', default: 'esrgan-thick,resnet50' },
    places: { type: 'string', default: 'node,browser' },
    runs: { type: 'string', default: '3' },
    json: { type: 'string', default: fileURLToPath(new URL('./results/compile.json', import.meta.url)) },
    /** In the process that compiles: the model's file. */
    child: { type: 'string' },
  },
});

if (values.child === undefined) await main();
else console.log(JSON.stringify(await compileHere(modelsOf(values.models)[0], values.child)));

function modelsOf(list: string): readonly CompiledModel[] {
  return list.split(',').map((wanted) => {
    const model = [...benchModels, smallest].find(({ id }) => id === wanted);
    if (model === undefined)
      throw new Error(`Expected --models out of ${benchModels.map(({ id }) => id)}, got ${wanted}.`);
    return model;
  });
}

/** The engine is loaded before: that costs the same for every model. */
async function compileHere(model: CompiledModel | undefined, path: string): Promise<Cost> {
  if (model === undefined) throw new Error('No model was named.');
  const { name, dims } = model.input;
  const backend = await createHeapBackend();
  const peak = watchPeak('self');
  const cpu = process.cpuUsage();
  const start = performance.now();
  const bytes = await readBytes(path, 'MODEL_NOT_FOUND');
  await compileModel(bytes, { name: model.id, numShards, axis, shapes: { [name]: dims }, backend });
  const ms = performance.now() - start;
  const { user, system } = process.cpuUsage(cpu);
  return { ms, cpuMs: (user + system) / 1000, peakBytes: peak() };
}

function compileInChild(model: CompiledModel, path: string): Cost {
  const script = fileURLToPath(import.meta.url);
  const args = [...process.execArgv, script, '--models', model.id, '--child', path];
  return JSON.parse(execFileSync(process.execPath, args, { encoding: 'utf8' })) as Cost;
}

/** A page is opened for each compilation, so that its process is new. */
async function compileInBrowser(
  browser: Browser,
  site: BenchSite,
  model: CompiledModel,
  path: string,
): Promise<Cost> {
  const page = await browser.newPage();
  try {
    await page.goto(site.pageUrl);
    await page.waitForFunction(() => window.benchPage !== undefined);
    await page.setInputFiles('input', path);
    const peak = await watchRenderers(browser);
    const { name, dims } = model.input;
    const wishes = { name: model.id, numShards, axis, shapes: { [name]: dims } } as const;
    const ms = await page.evaluate((given) => window.benchPage.compileFile(given), wishes);
    return { ms, cpuMs: null, peakBytes: peak() };
  } finally {
    await page.close();
  }
}

/** Chromium keeps a process for the next page beside those of the pages: the one that compiles is the one that grows. */
async function watchRenderers(browser: Browser): Promise<() => number | null> {
  const session = await browser.newBrowserCDPSession();
  const { processInfo } = (await session.send('SystemInfo.getProcessInfo')) as {
    processInfo: { type: string; id: number }[];
  };
  await session.detach();
  const peaks = processInfo.filter(({ type }) => type === 'renderer').map(({ id }) => watchPeak(id));
  return () => {
    const grown = peaks.flatMap((peak) => peak() ?? []);
    return grown.length === 0 ? null : Math.max(...grown);
  };
}

function summary(
  model: CompiledModel,
  place: Measurement['place'],
  fileBytes: number,
  fixed: Cost,
  runs: readonly Cost[],
): Measurement {
  const cpu = runs.flatMap(({ cpuMs }) => cpuMs ?? []);
  const peaks = runs.flatMap(({ peakBytes }) => peakBytes ?? []);
  return {
    model: model.id,
    title: model.title,
    place,
    fileBytes,
    medianMs: rounded(median(runs.map(({ ms }) => ms)), 0),
    medianCpuMs: cpu.length === 0 ? null : rounded(median(cpu), 0),
    mostPeakBytes: peaks.length === 0 ? null : Math.max(...peaks),
    fixedBytes: fixed.peakBytes,
    runs,
  };
}

async function main(): Promise<void> {
  const started = new Date();
  const loadBefore = loadAverage();
  const places = values.places.split(',');
  const folder = await mkdtemp(join(tmpdir(), 'starling-compile-'));
  const inBrowser = places.includes('browser');
  const site = inBrowser ? await serveBenchSite('127.0.0.1', '127.0.0.1') : null;
  const measured: Measurement[] = [];
  let browserVersion: string | null = null;
  const smallestPath = join(folder, 'smallest.onnx');
  writeFileSync(smallestPath, await smallest.bytes());
  for (const model of modelsOf(values.models)) {
    const bytes = await model.bytes();
    const path = join(folder, `${model.id}.onnx`);
    writeFileSync(path, bytes);
    const repeated = async (once: () => Cost | Promise<Cost>): Promise<Cost[]> => {
      const runs: Cost[] = [];
      for (let run = 0; run < Number(values.runs); run++) runs.push(await once());
      return runs;
    };
    if (places.includes('node')) {
      const fixed = compileInChild(smallest, smallestPath);
      const runs = await repeated(() => compileInChild(model, path));
      measured.push(summary(model, 'node', bytes.byteLength, fixed, runs));
    }
    if (site !== null) {
      const browser = await chromium.launch(chromiumOptions());
      browserVersion = `Chromium ${browser.version()}`;
      const fixed = await compileInBrowser(browser, site, smallest, smallestPath);
      const runs = await repeated(() => compileInBrowser(browser, site, model, path));
      measured.push(summary(model, 'browser', bytes.byteLength, fixed, runs));
      await browser.close();
    }
  }
  await site?.close();
  await rm(folder, { recursive: true });
  console.log(tableOf(measured));
  const report = {
    date: started.toISOString(),
    ...describeCommit(),
    machine: { ...describeMachine(), browser: browserVersion, loadBefore, loadAfter: loadAverage() },
    numShards,
    axis,
    results: measured,
  };
  const text = `${JSON.stringify(report, null, 1)}\n`;
  if (values.json === '-') console.log(text);
  else {
    mkdirSync(dirname(values.json), { recursive: true });
    writeFileSync(values.json, text);
  }
}

function tableOf(measured: readonly Measurement[]): string {
  const megabytes = (bytes: number) => `${(bytes / 1e6).toFixed(0)} MB`;
  return formatTable([
    ['model', 'where', 'seconds', 'CPU seconds', 'file', 'peak', 'of it fixed', 'rest x file'],
    ...measured.map(({ title, place, medianMs, medianCpuMs, fileBytes, mostPeakBytes, fixedBytes }) => [
      title,
      place,
      (medianMs / 1000).toFixed(1),
      medianCpuMs === null ? '' : (medianCpuMs / 1000).toFixed(1),
      megabytes(fileBytes),
      mostPeakBytes === null ? '' : megabytes(mostPeakBytes),
      fixedBytes === null ? '' : megabytes(fixedBytes),
      mostPeakBytes === null ? '' : ((mostPeakBytes - (fixedBytes ?? 0)) / fileBytes).toFixed(1),
    ]),
  ]);
}
