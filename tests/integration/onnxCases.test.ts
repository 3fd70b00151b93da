/** The ONNX project's operator cases, compiled for two shards and run on two devices, give the expected outputs. */
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { beforeAll, describe, expect, test } from 'vitest';
import { createHeapBackend } from '../../backends/ortHeap.ts';
import { compileModel, type DivisionAxis } from '../../compiler/compile.ts';
import { openLocalRoom } from '../../compiler/measure/localRoom.ts';
import { loadModel } from '../../graph/load.ts';
import { loadTensor } from '../../graph/loadTensor.ts';
import { onnx } from '../../graph/proto.ts';
import { seededRandom } from '../../graph/random.ts';
import type { Tensor } from '../../graph/tensor.ts';
import { StarlingError } from '../../protocol/errors.ts';
import type { Backend } from '../../runtime/backend.ts';
import { openPlan } from '../../runtime/plan.ts';
import { fileWeights } from '../../runtime/weights/blob.ts';
import { sharedFolder } from '../support/shared.ts';
import { tensorDifference } from '../support/tensorDifference.ts';

const folder = `${sharedFolder}data/onnx-cases/`;
const hasCases = existsSync(folder);
if (!hasCases) console.warn(`The ONNX project's operator cases are skipped: there is no ${folder}.`);
const names = hasCases ? readdirSync(folder).filter((name) => existsSync(`${folder}${name}/model.onnx`)) : [];

function readTensor(path: string): Tensor {
  const proto = onnx.TensorProto.decode(new Uint8Array(readFileSync(path)));
  return loadTensor(proto, path, () => {
    throw new StarlingError('INPUT_INVALID', `${path} refers to another file.`);
  });
}

/** The tensors input_0.pb, input_1.pb, ... under the names that the model gives them. */
function readTensors(name: string, kind: 'input' | 'output', ends: readonly { name: string }[]) {
  const path = (i: number) => `${folder}${name}/test_data_set_0/${kind}_${i}.pb`;
  const given = ends.flatMap((end, i) =>
    existsSync(path(i)) ? [[end.name, readTensor(path(i))] as const] : [],
  );
  return Object.fromEntries(given);
}

const axes: readonly DivisionAxis[] = ['channels', 'rows'];

describe.skipIf(!hasCases)('operator cases on two devices', () => {
  let backend: Backend;
  beforeAll(async () => {
    backend = await createHeapBackend();
  });

  test('all cases are there', () => {
    expect(names.length).toBeGreaterThanOrEqual(35);
  });

  test.each(names.flatMap((name) => axes.map((axis) => [name, axis] as const)))(
    '%s by %s',
    async (name, axis) => {
      const bytes = new Uint8Array(readFileSync(`${folder}${name}/model.onnx`));
      const { graph } = loadModel(bytes);
      const inputs = readTensors(name, 'input', graph.inputs);
      const expected = readTensors(name, 'output', graph.outputs);
      const shapes = Object.fromEntries(Object.entries(inputs).map(([input, { dims }]) => [input, dims]));
      const { files } = await compileModel(bytes, { name, numShards: 2, axis, shapes, backend });
      const read = async (path: string): Promise<Uint8Array> => {
        const content = files.get(path);
        if (content === undefined) throw new StarlingError('PLAN_NOT_FOUND', `The plan lacks ${path}.`);
        return content;
      };
      const plan = await openPlan(read);
      const contents = await Promise.all(plan.file.weights.map(({ path }) => read(path)));
      const weights = fileWeights(plan, contents);
      const room = await openLocalRoom({
        planOf: () => ({
          model: plan.model,
          division: plan.division,
          openBatch: false,
          weights,
          warmUp: false,
        }),
        placement: [[0], [1]],
        backend,
        random: seededRandom(1),
      });
      const { outputs } = await room.run(inputs);
      await room.close();
      expect(Object.keys(outputs).sort()).toEqual(Object.keys(expected).sort());
      for (const [output, tensor] of Object.entries(expected)) {
        expect(tensorDifference(tensor, outputs[output]), output).toBeUndefined();
      }
    },
  );
});
