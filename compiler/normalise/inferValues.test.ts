/** What is read off a graph is what a profiling run finds, for every operator with a rule and every opset that has it. */
import { createHash } from 'node:crypto';
import { beforeAll, describe, expect, test } from 'vitest';
import { createHeapBackend } from '../../backends/ortHeap.ts';
import type { Graph, Model } from '../../graph/graph.ts';
import { loadModel } from '../../graph/load.ts';
import { StarlingError } from '../../protocol/errors.ts';
import type { Backend } from '../../runtime/backend.ts';
import { type Form, formTables } from '../../tests/support/convolutionForms.ts';
import { type InferenceCase, inferenceCases } from '../../tests/support/inferenceCases.ts';
import {
  caseGraph,
  describeCase,
  fixed,
  given,
  type OperatorCase,
  random,
} from '../../tests/support/operatorCase.ts';
import { joined } from '../../tests/support/partCheck.ts';
import { randomModel } from '../../tests/support/randomGraph.ts';
import { hasShared, readSharedModel, sharedModelNames } from '../../tests/support/shared.ts';
import { constantNodesToInitializers } from './constantNodes.ts';
import { fixInputShapes } from './fixInputShapes.ts';
import { inferValues } from './inferValues.ts';
import { normaliseModel } from './normaliseModel.ts';
import { type Profile, profileModel } from './profile.ts';
import { profileFeeds } from './profileFeeds.ts';

let backend: Backend;
beforeAll(async () => {
  backend = await createHeapBackend();
});

/** What is asked of it must follow from the graph alone. */
const noEngine: Backend = {
  name: 'none',
  upload() {
    throw new StarlingError('INTERNAL', 'Nothing is uploaded.');
  },
  async createSession() {
    throw new StarlingError('INTERNAL', 'No session is made.');
  },
};

const opsets = [7, 8, 9, 10, 11, 12, 13, 15, 17, 18, 20, 22];

function modelOf(graph: Graph, opset: number): Model {
  const fields = { irVersion: 8, producer: '', metadata: new Map<string, string>() };
  return { ...fields, opsets: new Map([['', opset]]), graph };
}

const plain = ({ values, constants }: Profile) => ({
  values: new Map([...values].sort()),
  constants: new Map(
    [...constants]
      .sort()
      .map(([name, { dataType, dims, data }]) => [
        name,
        { dataType, dims, data: createHash('sha256').update(data).digest('hex') },
      ]),
  ),
});

/** The profiling run finds what was inferred. */
async function expectAlike(model: Model, inferred: Profile | undefined): Promise<void> {
  if (inferred === undefined) throw new Error('Nothing was inferred.');
  const profile = await profileModel(model, backend, profileFeeds(model.graph.inputs));
  expect(plain(inferred)).toEqual(plain(profile));
}

/** All cases side by side in one graph, which takes few sessions; returns those that are left to the engine. */
async function expectAllAlike(cases: readonly OperatorCase[], opset: number): Promise<readonly number[]> {
  const unsure: number[] = [];
  const graphs: Graph[] = [];
  for (const [i, one] of cases.entries()) {
    const graph = caseGraph(one, `${i}/`);
    if ((await inferValues(modelOf(graph, opset), noEngine)) === undefined) unsure.push(i);
    else graphs.push(graph);
  }
  const together = modelOf(joined(graphs), opset);
  await expectAlike(together, await inferValues(together, noEngine));
  return unsure;
}

describe('a single operator', () => {
  test.each(opsets)('opset %d', async (opset) => {
    const cases = inferenceCases.filter((one) => has(one, opset));
    const unsure = await expectAllAlike(cases, opset);
    expect(unsure.flatMap((i) => cases[i] ?? []).map(describeCase)).toEqual([]);
    const forms = Object.values(formTables)
      .flat()
      .filter((form) => has(form, opset) && form.op !== 'QLinearConv' && form.op !== 'ConvInteger');
    const left = (await expectAllAlike(forms.map(caseOf), opset)).flatMap((i) => forms[i] ?? []);
    // Boxes that are cut out are left to the engine, and dilated pools that pad by themselves.
    expect(left.filter((form) => !leftToEngine(form))).toEqual([]);
  });
});

const has = ({ from = 7, below = 99 }: Pick<InferenceCase, 'from' | 'below'>, opset: number) =>
  opset >= from && opset < below;

function leftToEngine({ op, attributes = {} }: Form): boolean {
  const { auto_pad: padding, coordinate_transformation_mode: mode, dilations } = attributes;
  const dilated = op.endsWith('Pool') && dilations !== undefined && padding !== undefined;
  return mode?.value === 'tf_crop_and_resize' || dilated;
}

function caseOf({ op, attributes = {}, weight, bias, spatial = 2, operands = [] }: Form): OperatorCase {
  const lengths = { 1: [20], 2: [12, 10], 3: [6, 5, 7] }[spatial];
  const groups = op === 'ConvTranspose' ? Number(attributes['group']?.value ?? 1) : 1;
  const channels = (weight?.[op === 'ConvTranspose' ? 1 : 0] ?? 0) * groups;
  const inputs = [
    given(random([1, 8, ...lengths])),
    ...operands.map((tensor) => (tensor === null ? null : fixed(tensor))),
    ...(weight === undefined ? [] : [fixed(random(weight))]),
    ...(bias === true ? [fixed(random([channels]))] : []),
  ];
  return { opType: op, attributes, inputs };
}

describe('a whole graph', () => {
  const open: Readonly<Record<string, readonly number[]>> = {
    'esrgan-slim-x4.onnx': [1, 3, 12, 10],
    'esrgan-thick-x4.onnx': [1, 3, 6, 5],
    'espcn-x3.onnx': [1, 1, 12, 10],
  };

  test.skipIf(!hasShared).each(sharedModelNames())('%s, as it is and normalised', async (name) => {
    const model = loadModel(readSharedModel(name));
    const shape = open[name];
    const [input] = model.graph.inputs;
    const shapes = shape === undefined || input === undefined ? {} : { [input.name]: shape };
    const context = { backend: noEngine, shapes };
    const fixedShapes = await fixInputShapes(model, context);
    const plainModel = await constantNodesToInitializers(fixedShapes, context);
    await expectAlike(plainModel, await inferValues(plainModel, noEngine));
    // No pass asks the engine for anything.
    const { model: normalised } = await normaliseModel(model, context);
    await expectAlike(normalised, await inferValues(normalised, noEngine));
  });

  test('random networks', async () => {
    for (let seed = 0; seed < 20; seed++) {
      const model = randomModel(seed, 10);
      await expectAlike(model, await inferValues(model, noEngine));
    }
  });
});
