/** Plans of the measured models, compiled when they are first asked for, and what one run of two devices exchanges. */
import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { compileModel, type DivisionAxis } from '../compiler/compile.ts';
import { runWhole } from '../compiler/measure/verify.ts';
import { randomTensor, seededRandom } from '../graph/random.ts';
import { byteCount, float32Tensor, float32View } from '../graph/tensor.ts';
import type { PixelOptions } from '../protocol/compileChoices.ts';
import type { Backend } from '../runtime/backend.ts';
import { lower } from '../runtime/lower/lower.ts';
import type { RoomProgram } from '../runtime/lower/program.ts';
import { openPlan } from '../runtime/plan.ts';
import { type LinkCost, localLink, referenceDevice } from '../runtime/predict/costModel.ts';
import type { BenchModel } from './models.ts';
import type { PageModel } from './page/benchPage.ts';

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

  /** Writes model, input and expected outputs, and says where they are. */
  async model({
    id,
    bytes,
    input: { name, dims },
    range: [low, high],
    pixels,
  }: BenchModel): Promise<PageModel> {
    const folder = join(this.#folder, id);
    await mkdir(folder, { recursive: true });
    const model = await bytes();
    const random = randomTensor('float32', dims, seededRandom(7), [low, high]);
    const input =
      pixels === undefined ? random : float32Tensor(dims, float32View(random).map(wholePixels(pixels)));
    const session = await this.#backend.createSession(model);
    const outputs = await runWhole(session, this.#backend, { [name]: input });
    await session.release();
    await writeFile(join(folder, 'model.onnx'), model);
    await writeFile(join(folder, 'input.bin'), input.data);
    await writeFile(
      join(folder, 'expected.bin'),
      Buffer.concat(Object.values(outputs).map(({ data }) => data)),
    );
    const at = (file: string) => `/${id}/${file}`;
    return {
      modelUrl: at('model.onnx'),
      inputUrl: at('input.bin'),
      expectedUrl: at('expected.bin'),
      name,
      dims,
      pixelScale: pixels?.output?.scale ?? null,
    };
  }

  /** `megabits` is what `auto` plans for; null is two tabs of one machine. */
  plan(
    model: BenchModel,
    axis: DivisionAxis,
    numShards: number,
    megabits: number | null = null,
  ): Promise<BenchPlan> {
    const link = axis === 'auto' && megabits !== null ? shapedLink(megabits) : localLink;
    const path = `${model.id}/${axis}-${numShards}${link === localLink ? '' : `-${megabits}mbit`}`;
    const known = this.#plans.get(path) ?? this.#compile(model, axis, numShards, path, link);
    this.#plans.set(path, known);
    return known;
  }

  async #compile(
    model: BenchModel,
    axis: DivisionAxis,
    numShards: number,
    path: string,
    link: LinkCost,
  ): Promise<BenchPlan> {
    const { name, dims } = model.input;
    const { files } = await compileModel(await model.bytes(), {
      name: model.id,
      numShards,
      axis,
      shapes: { [name]: dims },
      ...(model.pixels === undefined ? {} : { pixels: model.pixels }),
      cost: { devices: Array(numShards).fill(referenceDevice), link },
      backend: this.#backend,
    });
    const folder = join(this.#folder, path);
    await mkdir(folder, { recursive: true });
    for (const [file, bytes] of files) await writeFile(join(folder, file), bytes);
    const { model: lowered, division } = await openPlan(async (file) => files.get(file) ?? new Uint8Array());
    const placement = Array.from({ length: numShards }, (_, shard) => [shard]);
    return {
      url: `/${path}/plan.json`,
      traffic: trafficOf(lower(lowered.graph, division, placement)),
    };
  }
}

/** A token bucket delays nothing; what it costs beside its bytes is what two tabs of one machine cost. */
function shapedLink(megabits: number): LinkCost {
  return { ...localLink, bytesPerMs: Math.min(localLink.bytesPerMs, megabits * 125) };
}

/** To the nearest number that a pixel becomes. */
function wholePixels({ input: { scale } = { scale: 1 } }: PixelOptions): (value: number) => number {
  return (value) => Math.round(value * scale) / scale;
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
