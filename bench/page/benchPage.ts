/**
 * The page of the benchmarks: whatever is measured in a tab is opened here and run from here, so that every way pays
 * for the hop to its Worker and back.
 */
import { type Remote, wrap } from 'comlink';
import { defaultWasmBase } from '../../web/defaultWasmBase.ts';
import { joinRoom, type Room, type RunReport } from '../../web/index.ts';
import { openModelFile } from '../../web/worker/compileWorker.ts';
import type { CompileWishes } from '../../workers/compileApi.ts';
import type { PlainWorkerApi } from './plainWorker.ts';
import type { StagesWorkerApi } from './stagesWorker.ts';

/** An input and what a model in one piece gives of it, its outputs one after the other; both as raw tensors. */
export interface PageCase {
  readonly inputUrl: string;
  readonly expectedUrl: string;
}

export interface PageModel {
  readonly modelUrl: string;
  readonly name: string;
  readonly dims: readonly number[];
  /** Of the original model, float32 at both ends. */
  readonly plain: PageCase;
  /** Of what its plans are made of: a picture goes in as 8-bit pixels, and where it gives one it comes out as them. */
  readonly plan: PageCase;
}

export interface PageRun {
  /** As the page sees it. */
  readonly ms: number;
  /** Null for what does not run through the library. */
  readonly report: RunReport | null;
  /** Of stages: the same nodes as one session a device, all devices together. */
  readonly wholeMs: number | null;
}

type Output = Float32Array | Uint8Array;
type Ran = PageRun & { readonly outputs: readonly Output[] };

let run: (timeline: boolean) => Promise<Ran> = () => Promise.reject(new Error('Nothing is open.'));
let room: Room | null = null;

async function bytesAt(url: string): Promise<ArrayBuffer> {
  return await (await fetch(url)).arrayBuffer();
}

function startWorker<Api>(worker: Worker): Remote<Api> {
  return wrap<Api>(worker);
}

const twoInstances = {
  slo: { p95Ms: 600_000 },
  policy: { fixed: { batch: 1, instances: 2 } },
} as const;

/**
 * Runs once. Of numbers the largest difference relative to the largest number; of pixels and classes, where roundings
 * may fall apart, the root mean square of the differences relative to the largest.
 */
async function check({ expectedUrl }: PageCase): Promise<number> {
  const { outputs } = await run(false);
  const expected = await bytesAt(expectedUrl);
  let [at, largestDifference, squares, count, largest] = [0, 0, 0, 0, 0];
  for (const output of outputs) {
    const { byteLength } = output;
    if (at + byteLength > expected.byteLength) return Number.NaN;
    const part = expected.slice(at, at + byteLength);
    const wanted = output instanceof Uint8Array ? new Uint8Array(part) : new Float32Array(part);
    for (const [i, value] of output.entries()) {
      const difference = Math.abs(value - (wanted[i] ?? Number.NaN));
      largestDifference = Math.max(largestDifference, difference);
      largest = Math.max(largest, Math.abs(wanted[i] ?? 0));
      squares += difference ** 2;
    }
    count += output.length;
    at += byteLength;
  }
  if (at !== expected.byteLength) return Number.NaN;
  const whole = outputs.every((output) => output instanceof Uint8Array);
  return (whole ? Math.sqrt(squares / count) : largestDifference) / largest;
}

const page = {
  check: ({ plan }: PageModel) => check(plan),

  async openPlain(model: PageModel): Promise<number> {
    const worker = startWorker<PlainWorkerApi>(
      new Worker(new URL('./plainWorker.ts', import.meta.url), { type: 'module' }),
    );
    const { name, dims, modelUrl } = model;
    await worker.open(new URL(modelUrl, location.href).href, defaultWasmBase());
    const data = new Float32Array(await bytesAt(model.plain.inputUrl));
    run = async () => {
      const start = performance.now();
      const outputs = await worker.run(name, data, dims);
      return { ms: performance.now() - start, report: null, wholeMs: null, outputs };
    };
    return check(model.plain);
  },

  async openStages(model: PageModel, planUrl: string): Promise<number> {
    const worker = startWorker<StagesWorkerApi>(
      new Worker(new URL('./stagesWorker.ts', import.meta.url), { type: 'module' }),
    );
    const { name, dims } = model;
    const data = new Uint8Array(await bytesAt(model.plan.inputUrl));
    await worker.open(new URL(planUrl, location.href).href, defaultWasmBase());
    run = async (timeline) => {
      const { report, wholeMs, outputs } = await worker.run(name, data, dims, timeline);
      return { ms: report.totalMs, report, wholeMs, outputs };
    };
    return check(model.plan);
  },

  async join(name: string): Promise<void> {
    const signaling = new URL('/', location.href);
    room = await joinRoom({ signaling, room: name, backend: 'wasm', threads: 1, devices: 'all' });
  },

  /** `devicesPerInstance`: two copies of the network, each on so many devices, take the runs in turns. */
  async load(model: PageModel, planUrl: string, devicesPerInstance: number | null = null): Promise<number> {
    if (room === null) throw new Error('Join a room first.');
    const session = await (devicesPerInstance === null
      ? room.load(planUrl)
      : room.load(planUrl, { ...twoInstances, devicesPerInstance }));
    const { name, dims } = model;
    const data = new Uint8Array(await bytesAt(model.plan.inputUrl));
    run = async (timeline) => {
      let report: RunReport | null = null;
      const start = performance.now();
      const outputs = await session.run(
        { [name]: { data, dims } },
        {
          timeline,
          onReport: (one) => {
            report = one;
          },
        },
      );
      const ms = performance.now() - start;
      return {
        ms,
        report,
        wholeMs: null,
        outputs: Object.values(outputs).map((o) => o.data as Output),
      };
    };
    return check(model.plan);
  },

  /** Devices that hold shards and are ready. */
  numReady(): number {
    return room?.devices.filter(({ state, shards }) => state === 'ready' && shards.length > 0).length ?? 0;
  },

  async run(count: number, timeline = false): Promise<PageRun[]> {
    const runs: PageRun[] = [];
    for (let i = 0; i < count; i++) {
      const { ms, report, wholeMs } = await run(timeline);
      runs.push({ ms, report, wholeMs });
    }
    return runs;
  },

  /** Compiles the file that was chosen, as the page does with one that is dropped; milliseconds. */
  async compileFile(wishes: CompileWishes): Promise<number> {
    const file = document.querySelector('input')?.files?.[0];
    if (file === undefined) throw new Error('Choose a file first.');
    const start = performance.now();
    const model = await openModelFile(file);
    const files = await model.compile(wishes, defaultWasmBase());
    const ms = performance.now() - start;
    model.close();
    if (!files.has('plan.json')) throw new Error('There is no plan.');
    return ms;
  },

  /** Runs again and again for so long, some at a time; runs per second. */
  async throughput(ms: number, inFlight = 1): Promise<number> {
    const start = performance.now();
    let count = 0;
    const caller = async () => {
      for (; performance.now() - start < ms; count++) await run(false);
    };
    await Promise.all(Array.from({ length: inFlight }, caller));
    return (count * 1000) / (performance.now() - start);
  },
};

declare global {
  interface Window {
    benchPage: typeof page;
  }
}

window.benchPage = page;
