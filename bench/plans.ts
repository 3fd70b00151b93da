/** Plans of the measured models, compiled when they are first asked for, and what one run of two devices exchanges. */
import { mkdir, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { chooseBackend } from '../cli/backendOption.ts';
import { calibrationData } from '../cli/calibrationData.ts';
import { type CompileOptions, compileModel } from '../compiler/compile.ts';
import { runWhole } from '../compiler/measure/verify.ts';
import { pixelEnds } from '../compiler/pixels.ts';
import { sharedPath } from '../eval/cacheDir.ts';
import { loadModel } from '../graph/load.ts';
import { randomTensor, seededRandom } from '../graph/random.ts';
import { saveModel } from '../graph/save.ts';
import { byteCount, float32Tensor, float32View, type Tensor } from '../graph/tensor.ts';
import type { Backend } from '../runtime/backend.ts';
import { lower } from '../runtime/lower/lower.ts';
import { allOnOne, oneShardEach } from '../runtime/lower/placements.ts';
import type { RoomProgram } from '../runtime/lower/program.ts';
import { openPlan } from '../runtime/plan.ts';
import { type LinkCost, linkOver, localLink, referenceDevice } from '../runtime/predict/costModel.ts';
import { simulate } from '../runtime/predict/simulate.ts';
import type { BenchModel } from './models.ts';
import type { PageModel } from './page/benchPage.ts';
import { keptPlan } from './planCache.ts';
import type { BenchDivision, Divided } from './scenarios.ts';

type PixelInput = BenchModel['pixels']['input'];

/** What a room of one shard a device exchanges in one run. */
export interface Traffic {
  readonly rounds: number;
  readonly exchangedBytes: number;
  /** Of each level of the room's graph, the most that one device receives. */
  readonly bytesPerRound: readonly number[];
  readonly macsPerDevice: readonly number[];
}

export interface BenchPlan {
  readonly url: string;
  readonly traffic: Traffic;
  /** What the cost model says of a run of one device with all shards, or of one shard a device over a link. */
  predictedMs(over: 'one device' | LinkCost): number;
}

interface Plannable {
  readonly division: Exclude<BenchDivision, 'requests'>;
  readonly numShards: number;
  readonly kept: number | undefined;
}

export class BenchPlans {
  readonly #folder: string;
  readonly #backend: Backend;
  readonly #plans = new Map<string, Promise<BenchPlan>>();

  /** `folder` is served at the root of the site. */
  constructor(folder: string, backend: Backend) {
    this.#folder = folder;
    this.#backend = backend;
  }

  /**
   * Writes the model and what plans are made of, each with a picture as its input and what it gives in one piece, and
   * says where they are.
   */
  async model(model: BenchModel): Promise<PageModel> {
    const { id, pixels } = model;
    const { name, dims } = model.input;
    const original = await model.bytes();
    const pictured = saveModel(pixelEnds(loadModel(original), pixels)).bytes;
    const noise = float32View(randomTensor('float32', dims, seededRandom(7), [0, 256]));
    const picture: Tensor = { dataType: 'uint8', dims, data: Uint8Array.from(noise, Math.floor) };
    const numbers = float32Tensor(dims, normalised(picture, pixels.input));
    await this.#write(`${id}/model.onnx`, original);
    const asked = async (kind: string, bytes: Uint8Array, input: Tensor) => {
      const expected = await this.#runWhole(bytes, { [name]: input });
      return {
        inputUrl: await this.#write(`${id}/${kind}-input.bin`, input.data),
        expectedUrl: await this.#write(`${id}/${kind}-expected.bin`, expected),
      };
    };
    return {
      modelUrl: `/${id}/model.onnx`,
      name,
      dims,
      plain: await asked('plain', original, numbers),
      plan: await asked('plan', pictured, picture),
    };
  }

  async #runWhole(bytes: Uint8Array, feeds: Readonly<Record<string, Tensor>>): Promise<Uint8Array> {
    const session = await this.#backend.createSession(bytes);
    const outputs = await runWhole(session, this.#backend, feeds);
    await session.release();
    return Buffer.concat(Object.values(outputs).map(({ data }) => data));
  }

  async #write(path: string, bytes: Uint8Array): Promise<string> {
    const file = join(this.#folder, path);
    await mkdir(dirname(file), { recursive: true });
    await writeFile(file, bytes);
    return `/${path}`;
  }

  /** `megabits` is what `auto` plans for; null is two tabs of one machine. */
  plan(
    model: BenchModel,
    { division, numShards, kept }: Divided,
    megabits: number | null = null,
  ): Promise<BenchPlan> {
    // A device with all shards runs the model itself, whatever divides it.
    if (division === 'requests') return this.plan(model, { division: 'rows', numShards });
    const link = division === 'auto' ? linkOf(megabits) : localLink;
    const name = `${division}${kept === undefined ? '' : `-${kept}`}-${numShards}`;
    const path = `${model.id}/${name}${link === localLink ? '' : `-${megabits}mbit`}`;
    const known = this.#plans.get(path) ?? this.#compile(model, { division, numShards, kept }, path, link);
    this.#plans.set(path, known);
    return known;
  }

  async #compile(
    model: BenchModel,
    { division, numShards, kept = 1 }: Plannable,
    path: string,
    link: LinkCost,
  ): Promise<BenchPlan> {
    const cost = { devices: Array(numShards).fill(referenceDevice), link };
    const settings = { name: model.id, numShards, shapes: { [model.input.name]: model.input.dims }, cost };
    const compile = async (options: Pick<CompileOptions, 'axis' | 'backend' | 'sparse' | 'wire'>) =>
      (await compileModel(await model.bytes(), { ...settings, ...options, pixels: model.pixels })).files;
    const files =
      division === 'sparse'
        ? await keptPlan(`${model.id}-sparse-${kept}-${numShards}`, async () =>
            compile(await sparseOptions(model, kept)),
          )
        : await compile({ axis: division, backend: this.#backend });
    for (const [file, bytes] of files) await this.#write(`${path}/${file}`, bytes);
    const { model: lowered, division: divided } = await openPlan(
      async (file) => files.get(file) ?? new Uint8Array(),
    );
    const alone = lower(lowered.graph, divided, allOnOne(numShards));
    const apart = lower(lowered.graph, divided, oneShardEach(numShards));
    const predicted = (room: RoomProgram, link: LinkCost) =>
      simulate(room, { devices: [referenceDevice], link, host: 0 }).totalMs;
    return {
      url: `/${path}/plan.json`,
      traffic: trafficOf(apart),
      predictedMs: (over) => (over === 'one device' ? predicted(alone, localLink) : predicted(apart, over)),
    };
  }
}

/** What `sparse` is made of; made on the native runtime where it is installed. */
async function sparseOptions(
  model: BenchModel,
  keep: number,
): Promise<Pick<CompileOptions, 'axis' | 'backend' | 'sparse' | 'wire'>> {
  const { folder, prepare } = model.calibration;
  const shapes = { [model.input.name]: model.input.dims };
  const [path, part] = folder.split(':');
  const found = sharedPath(path ?? '');
  if (found === undefined) throw new Error(`../shared/${path} is not on this machine.`);
  const source = part === undefined ? found : `${found}:${part}`;
  const calibration = await calibrationData(source, loadModel(await model.bytes()), { prepare, shapes });
  return {
    axis: 'channels',
    backend: await chooseBackend('auto', { threads: 1 }),
    sparse: { calibration, budget: { keep } },
    wire: { type: 'uint8', calibration },
  };
}

/** A token bucket delays nothing; what it costs beside its bytes is what two tabs of one machine cost. */
function linkOf(megabits: number | null): LinkCost {
  if (megabits === null) return localLink;
  return linkOver({ bytesPerMs: megabits * 125, roundTripMs: localLink.roundTripMs });
}

/** What the model's own input holds of a picture, in the arithmetic of the nodes that do it in a plan. */
function normalised({ dims, data }: Tensor, { scale, mean = [0], std = [1] }: PixelInput): Float32Array {
  const { fround } = Math;
  const [channels = 1, height = 1, width = 1] = dims.slice(-3);
  return Float32Array.from(data, (pixel, i) => {
    const channel = Math.floor(i / (height * width)) % channels;
    const of = (values: readonly number[]) => fround(values[values.length === 1 ? 0 : channel] ?? Number.NaN);
    return fround(fround(fround(pixel / fround(scale)) - of(mean)) / of(std));
  });
}

function trafficOf({ programs, rounds, exchangedBytes }: RoomProgram): Traffic {
  const bytesPerRound: number[] = [];
  for (const { stages, receives } of programs) {
    const levels = new Map<number, number>();
    for (const { targetName, dataType, dims } of receives) {
      const readAt = stages.filter(({ inputs }) => inputs.includes(targetName)).map(({ level }) => level);
      if (dataType === 'string' || readAt.length === 0) continue;
      const level = Math.min(...readAt);
      levels.set(level, (levels.get(level) ?? 0) + byteCount(dataType, dims));
    }
    for (const [level, bytes] of levels) bytesPerRound[level] = Math.max(bytesPerRound[level] ?? 0, bytes);
  }
  return {
    rounds,
    exchangedBytes,
    bytesPerRound: Object.values(bytesPerRound),
    macsPerDevice: programs.map(({ macs }) => macs),
  };
}
