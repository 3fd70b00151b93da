/**
 * All devices of a placement in one Worker, over channels in memory: what stages, executor and frames cost without a
 * network. Beside it each device's program as one session, fed with tensors that lie in the engine's memory.
 */

import { expose, transfer } from 'comlink';
import { createHeapBackend } from '../../backends/ortHeap.ts';
import { type LocalRoom, openLocalRoom } from '../../compiler/measure/localRoom.ts';
import { randomTensor, seededRandom } from '../../graph/random.ts';
import { float32View } from '../../graph/tensor.ts';
import type { WasmBase } from '../../protocol/backendInfo.ts';
import type { Backend, Session, TensorHandle } from '../../runtime/backend.ts';
import type { DevicePlan } from '../../runtime/device.ts';
import { oneShardEach } from '../../runtime/lower/placements.ts';
import type { Program } from '../../runtime/lower/program.ts';
import { openPlan } from '../../runtime/plan.ts';
import { stageModel, weightsPath, wholeStage } from '../../runtime/stageModel.ts';
import { buildBlob, fileWeights } from '../../runtime/weights/blob.ts';
import type { RunReport } from '../../web/index.ts';
import { fetchBytes } from '../../workers/planFiles.ts';

interface WholeProgram {
  readonly session: Session;
  readonly inputs: ReadonlyMap<string, TensorHandle>;
}

let opened: { readonly room: LocalRoom; readonly wholes: readonly WholeProgram[] } | null = null;

async function wholeProgram(program: Program, plan: DevicePlan, backend: Backend): Promise<WholeProgram> {
  const { model, openBatch, weights } = plan;
  const blob = buildBlob(program, model, weights);
  const bytes = stageModel(model, program, wholeStage(program), blob, openBatch);
  const session = await backend.createSession(bytes, [{ path: weightsPath, data: blob.data }]);
  const random = seededRandom(1);
  const inputs = new Map<string, TensorHandle>();
  for (const name of session.inputNames) {
    const { dataType = 'float32', dims = [] } = program.types.get(name) ?? {};
    inputs.set(name, backend.upload(randomTensor(dataType, dims, random)));
  }
  return { session, inputs };
}

/** Without reading what it gives. */
async function timeOf({ session, inputs }: WholeProgram): Promise<number> {
  const start = performance.now();
  const outputs = await session.run(inputs);
  const ms = performance.now() - start;
  for (const handle of outputs.values()) handle.release();
  return ms;
}

const api = {
  async open(planUrl: string, wasmBase: WasmBase): Promise<void> {
    const backend = await createHeapBackend({ threads: 1, wasmBase });
    const read = (path: string) => fetchBytes(new URL(path, planUrl).href);
    const plan = await openPlan(read);
    const files = await Promise.all(plan.file.weights.map(({ path }) => read(path)));
    const { model, division, file } = plan;
    const devicePlan: DevicePlan = {
      model,
      division,
      openBatch: file.maxBatch > 1,
      weights: fileWeights(plan, files),
    };
    const placement = oneShardEach(file.numShards);
    const room = await openLocalRoom({ planOf: () => devicePlan, placement, backend });
    const wholes: WholeProgram[] = [];
    for (const program of room.room.programs) wholes.push(await wholeProgram(program, devicePlan, backend));
    for (const whole of wholes) for (let i = 0; i < 3; i++) await timeOf(whole);
    opened = { room, wholes };
  },

  async run(name: string, data: Uint8Array, dims: readonly number[], timeline: boolean) {
    if (opened === null) throw new Error('No plan is open.');
    const { room, wholes } = opened;
    let wholeMs = 0;
    for (const whole of wholes) wholeMs += await timeOf(whole);
    const { outputs, stats, ...noted } = await room.run(
      { [name]: { dataType: 'uint8', dims, data } },
      { timeline },
    );
    const report: RunReport = { ...stats, ...noted, devices: wholes.length, restarts: 0 };
    const values = Object.values(outputs).map((tensor) =>
      tensor.dataType === 'uint8' ? new Uint8Array(tensor.data) : new Float32Array(float32View(tensor)),
    );
    return transfer(
      { report, wholeMs, outputs: values },
      values.map(({ buffer }) => buffer),
    );
  },
};

export type StagesWorkerApi = typeof api;

expose(api);
