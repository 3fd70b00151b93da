/** The module Worker of backends.spec.ts: chooses a backend and runs a chain of models on it. */
import { type BackendRequest, chooseBackend } from '../../../backends/chooseBackend.ts';
import type { Tensor } from '../../../graph/tensor.ts';
import type { BackendInfo } from '../../../protocol/backendInfo.ts';
import type { Backend, Session, TensorHandle } from '../../../runtime/backend.ts';

export interface ChainRequest extends BackendRequest {
  /** Serialised models of one input and one output each. */
  readonly models: readonly Uint8Array[];
  readonly input: Tensor;
  readonly runs: number;
}

export interface ChainResult {
  readonly info: BackendInfo;
  /** What each model put out. */
  readonly outputs: readonly Tensor[];
  readonly startMs: number;
  readonly createMs: readonly number[];
  readonly runMs: readonly number[];
}

type Scope = {
  onmessage: ((event: { data: ChainRequest }) => void) | null;
  postMessage(message: unknown): void;
};
const scope = globalThis as unknown as Scope;

scope.onmessage = ({ data }) => {
  runChain(data).then(
    (result) => scope.postMessage({ result }),
    (error) => scope.postMessage({ error: String(error) }),
  );
};

async function runChain(request: ChainRequest): Promise<ChainResult> {
  const started = performance.now();
  const { backend, info } = await chooseBackend(request);
  const startMs = performance.now() - started;
  const sessions: Session[] = [];
  const createMs: number[] = [];
  for (const model of request.models) {
    const from = performance.now();
    sessions.push(await backend.createSession(model));
    createMs.push(performance.now() - from);
  }
  const runMs: number[] = [];
  let outputs: readonly Tensor[] = [];
  for (let i = 0; i < request.runs; i++) {
    const from = performance.now();
    outputs = await runOnce(backend, sessions, request.input);
    runMs.push(performance.now() - from);
  }
  for (const session of sessions) await session.release();
  return { info, outputs, startMs, createMs, runMs };
}

/** Every output is read before it is fed on: reading must not take it from where it lies. */
async function runOnce(backend: Backend, sessions: readonly Session[], input: Tensor): Promise<Tensor[]> {
  const outputs: Tensor[] = [];
  let value: TensorHandle = backend.upload(input);
  for (const session of sessions) {
    const results = await session.run(new Map([[session.inputNames[0] ?? '', value]]));
    value.release();
    const next = results.get(session.outputNames[0] ?? '');
    if (next === undefined) throw new Error('A model without output.');
    outputs.push(await next.read());
    value = next;
  }
  value.release();
  return outputs;
}
