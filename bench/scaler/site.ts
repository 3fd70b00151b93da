/** Builds the scaler's page from the sources as they are, and serves it beside the plans that are measured on it. */
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { build } from 'vite';
import { createHeapBackend } from '../../backends/ortHeap.ts';
import { calibrationData } from '../../cli/calibrationData.ts';
import { compileModel } from '../../compiler/compile.ts';
import { runWhole } from '../../compiler/measure/verify.ts';
import { loadModel } from '../../graph/load.ts';
import { randomTensor, seededRandom } from '../../graph/random.ts';
import { float32Tensor, float32View, type Tensor } from '../../graph/tensor.ts';
import type { Backend } from '../../runtime/backend.ts';
import { lower } from '../../runtime/lower/lower.ts';
import { openPlan } from '../../runtime/plan.ts';
import { stageModel, weightsPath, wholeStage } from '../../runtime/stageModel.ts';
import { buildBlob, fileWeights } from '../../runtime/weights/blob.ts';
import { createSignalingServer } from '../../signaling/server.ts';
import { readSharedModel, sharedFolder } from '../../tests/support/shared.ts';
import type { PlanCase } from '../page/manyRuns.ts';
import type { ScalerModel } from './models.ts';

export interface ScalerSite {
  readonly port: number;
  readonly pagePath: string;
  compile(model: ScalerModel): Promise<PlanCase>;
  close(): Promise<void>;
}

export async function serveScalerSite(host: string): Promise<ScalerSite> {
  const folder = await mkdtemp(join(tmpdir(), 'starling-scaler-'));
  const [page, data] = [join(folder, 'page'), join(folder, 'data')];
  await mkdir(data);
  await build({
    configFile: fileURLToPath(new URL('../../vite.config.ts', import.meta.url)),
    logLevel: 'error',
    publicDir: false,
    build: {
      outDir: page,
      rollupOptions: { input: fileURLToPath(new URL('../page/scaler.html', import.meta.url)) },
    },
  });
  const server = await createSignalingServer({ host, mounts: { '/page': page, '/': data } });
  const backend = await createHeapBackend({ threads: 1 });
  const compiled = new Map<string, Promise<PlanCase>>();
  return {
    port: server.port,
    pagePath: '/page/bench/page/scaler.html',
    compile(model) {
      const known = compiled.get(model.id) ?? compilePlan(model, data, backend);
      compiled.set(model.id, known);
      return known;
    },
    async close() {
      await server.close();
      await rm(folder, { recursive: true });
    },
  };
}

function picture(dims: readonly number[], shares: Float32Array): Tensor {
  return { dataType: 'uint8', dims, data: Uint8Array.from(shares, (share) => Math.floor(256 * share)) };
}

/** Writes the plan, a random input, and what the plan's function gives of it in one piece, apart from any room. */
async function compilePlan(model: ScalerModel, folder: string, backend: Backend): Promise<PlanCase> {
  const { id, file, input, keep, pixels } = model;
  const bytes = readSharedModel(file);
  const shapes = { [input.name]: input.dims };
  const calibration = async () =>
    calibrationData(`${sharedFolder}data/imagenet-samples:1/60`, loadModel(bytes), {
      prepare: 'unit',
      shapes,
    });
  const { files } = await compileModel(bytes, {
    name: id,
    numShards: 2,
    axis: 'channels',
    shapes,
    backend,
    ...(pixels === null ? {} : { pixels }),
    ...(keep === null ? {} : { sparse: { calibration: await calibration(), budget: { keep } } }),
  });
  const write = async (name: string, content: Uint8Array) => {
    const path = join(folder, id, name);
    await mkdir(dirname(path), { recursive: true });
    await writeFile(path, content);
    return `/${id}/${name}`;
  };
  for (const [name, content] of files) await write(name, content);
  const plan = await openPlan(async (name) => files.get(name) ?? new Uint8Array());
  const weights = fileWeights(
    plan,
    plan.file.weights.map(({ path }) => files.get(path) ?? null),
  );
  const [program] = lower(plan.model.graph, plan.division, [[0, 1]]).programs;
  if (program === undefined) throw new Error('The plan has no program for one device.');
  const blob = buildBlob(program, plan.model, weights);
  const session = await backend.createSession(
    stageModel(plan.model, program, wholeStage(program), blob, plan.file.maxBatch > 1),
    [{ path: weightsPath, data: blob.data }],
  );
  const numbers = float32View(randomTensor('float32', input.dims, seededRandom(7), [0, 1]));
  const tensor = pixels === null ? float32Tensor(input.dims, numbers) : picture(input.dims, numbers);
  const outputs = await runWhole(session, backend, { [input.name]: tensor });
  await session.release();
  const expected = Buffer.concat(
    // A thinned plan's program has names of its own for the model's outputs.
    program.results.map(({ name }) => {
      const output = outputs[name];
      if (output === undefined) throw new Error(`The plan gave no ${name}.`);
      return output.data;
    }),
  );
  return {
    dataType: pixels === null ? 'float32' : 'uint8',
    planUrl: `/${id}/plan.json`,
    ...input,
    inputUrl: await write('input.bin', tensor.data),
    expectedUrl: await write('expected.bin', expected),
  };
}
