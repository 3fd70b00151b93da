/**
 * The page of the benchmarks: whatever is measured in a tab is opened here and run from here, so that every way pays
 * for the hop to its Worker and back.
 */
import { type Remote, wrap } from 'comlink';
import { defaultWasmBase } from '../../web/defaultWasmBase.ts';
import { joinRoom, type Room, type RunReport } from '../../web/index.ts';
import type { PlainWorkerApi } from './plainWorker.ts';
import type { StagesWorkerApi } from './stagesWorker.ts';

export interface PageModel {
  readonly modelUrl: string;
  readonly inputUrl: string;
  /** What the original model gives, its outputs one after the other. */
  readonly expectedUrl: string;
  readonly name: string;
  readonly dims: readonly number[];
  /** Where plans take and give 8-bit pictures: their pixel of the model's 1. */
  readonly pixelScale: number | null;
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

async function floats(url: string): Promise<Float32Array> {
  return new Float32Array(await (await fetch(url)).arrayBuffer());
}

function startWorker<Api>(worker: Worker): Remote<Api> {
  return wrap<Api>(worker);
}

/** What a plan takes: the model's own numbers, or pixels. */
async function planInput({ inputUrl, pixelScale }: PageModel): Promise<Float32Array | Uint8Array> {
  const data = await floats(inputUrl);
  return pixelScale === null ? data : Uint8Array.from(data, (value) => Math.round(value * pixelScale));
}

/** Runs once; the largest difference to the original relative to its largest value. Pixels differ by whole ones. */
async function check({ expectedUrl, pixelScale }: PageModel): Promise<number> {
  const expected = await floats(expectedUrl);
  const { outputs } = await run(false);
  let [at, difference, largest] = [0, 0, 0];
  for (const output of outputs) {
    const scale = output instanceof Uint8Array ? (pixelScale ?? 1) : null;
    for (const value of output) {
      const original = expected[at++] ?? Number.NaN;
      const wanted = scale === null ? original : Math.min(255, Math.max(0, Math.round(original * scale)));
      difference = Math.max(difference, Math.abs(value - wanted));
      largest = Math.max(largest, Math.abs(wanted));
    }
  }
  return at === expected.length ? difference / largest : Number.NaN;
}

const page = {
  check,

  async openPlain(model: PageModel): Promise<number> {
    const worker = startWorker<PlainWorkerApi>(
      new Worker(new URL('./plainWorker.ts', import.meta.url), { type: 'module' }),
    );
    const { name, dims, modelUrl } = model;
    await worker.open(new URL(modelUrl, location.href).href, defaultWasmBase());
    const data = await floats(model.inputUrl);
    run = async () => {
      const start = performance.now();
      const outputs = await worker.run(name, data, dims);
      return { ms: performance.now() - start, report: null, wholeMs: null, outputs };
    };
    return check(model);
  },

  async openStages(model: PageModel, planUrl: string): Promise<number> {
    const worker = startWorker<StagesWorkerApi>(
      new Worker(new URL('./stagesWorker.ts', import.meta.url), { type: 'module' }),
    );
    const { name, dims } = model;
    const data = await planInput(model);
    await worker.open(new URL(planUrl, location.href).href, defaultWasmBase());
    run = async (timeline) => {
      const { report, wholeMs, outputs } = await worker.run(name, data, dims, timeline);
      return { ms: report.totalMs, report, wholeMs, outputs };
    };
    return check(model);
  },

  async join(name: string): Promise<void> {
    const signaling = new URL('/', location.href);
    room = await joinRoom({ signaling, room: name, backend: 'wasm', threads: 1 });
  },

  async load(model: PageModel, planUrl: string): Promise<number> {
    if (room === null) throw new Error('Join a room first.');
    const session = await room.load(planUrl);
    const { name, dims } = model;
    const data = await planInput(model);
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
    return check(model);
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

  /** Runs again and again for so long; runs per second. */
  async throughput(ms: number): Promise<number> {
    const start = performance.now();
    let count = 0;
    for (; performance.now() - start < ms; count++) await run(false);
    return (count * 1000) / (performance.now() - start);
  },
};

declare global {
  interface Window {
    benchPage: typeof page;
  }
}

window.benchPage = page;
