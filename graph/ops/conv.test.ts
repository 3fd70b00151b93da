import fc from 'fast-check';
import { expect, test } from 'vitest';
import {
  activation,
  fixed,
  int,
  ints,
  type OperatorCase,
  present,
  random,
  text,
  weight,
} from '../../tests/support/operatorCase.ts';
import { checkParts, checkRule } from '../../tests/support/partCheck.ts';
import { shift } from '../ranges.ts';
import { float32Tensor } from '../tensor.ts';
import { conv, convInteger, qLinearConv } from './conv.ts';
import { convTranspose } from './convTranspose.ts';
import type { OpRule } from './rule.ts';

const shape = fc.record({
  group: fc.constantFrom(1, 1, 2, 3, 4),
  inputs: fc.integer({ min: 1, max: 3 }),
  outputs: fc.integer({ min: 1, max: 4 }),
  kernel: fc.tuple(fc.integer({ min: 1, max: 4 }), fc.integer({ min: 1, max: 3 })),
  strides: fc.option(fc.tuple(fc.integer({ min: 1, max: 3 }), fc.integer({ min: 1, max: 3 }))),
  dilations: fc.option(fc.tuple(fc.integer({ min: 1, max: 3 }), fc.integer({ min: 1, max: 2 }))),
  pads: fc.option(fc.array(fc.integer({ min: 0, max: 3 }), { minLength: 4, maxLength: 4 })),
  autoPad: fc.constantFrom(null, null, null, 'SAME_UPPER', 'SAME_LOWER', 'VALID'),
  rows: fc.integer({ min: 11, max: 15 }),
  bias: fc.boolean(),
});

type Shape = typeof shape extends fc.Arbitrary<infer T> ? T : never;

/** onnxruntime refuses dilations beside SAME. */
function convAttributes({ group, kernel, strides, dilations, pads, autoPad }: Shape) {
  const same = autoPad?.startsWith('SAME') === true;
  return present({
    group: group === 1 ? undefined : int(group),
    kernel_shape: ints(...kernel),
    strides: strides === null ? undefined : ints(...strides),
    dilations: dilations === null || same ? undefined : ints(...dilations),
    pads: pads === null || autoPad !== null ? undefined : ints(...pads),
    auto_pad: autoPad === null ? undefined : text(autoPad),
  });
}

const convCases: fc.Arbitrary<OperatorCase> = shape.map((given) => {
  const { group, inputs, outputs, kernel, rows, bias } = given;
  return {
    opType: 'Conv',
    attributes: convAttributes(given),
    inputs: [
      activation([1, group * inputs, rows, 7]),
      weight([group * outputs, inputs, ...kernel]),
      bias ? weight([group * outputs]) : null,
    ],
  };
});

test('Conv by channels, groups and rows', async () => {
  await checkRule(conv, convCases, { axes: [1, 2, 3], numRuns: 60 });
});

test('Conv over one and three spatial axes', async () => {
  await checkRule(
    conv,
    fc.constantFrom(1, 3).map((rank) => ({
      opType: 'Conv',
      attributes: {
        pads: ints(...Array<number>(2 * rank).fill(1)),
        strides: ints(...Array<number>(rank).fill(2)),
      },
      inputs: [
        activation([2, 3, ...Array<number>(rank).fill(6)]),
        weight([5, 3, ...Array<number>(rank).fill(3)]),
        weight([5]),
      ],
    })),
    { axes: [1, 2, 3, 4], numRuns: 6 },
  );
});

test('Conv whose weights are computed divides by rows only', async () => {
  const operator: OperatorCase = {
    opType: 'Conv',
    attributes: {},
    inputs: [activation([1, 3, 8, 8]), activation([4, 3, 3, 3]), weight([4])],
  };
  const { failures, axes } = await checkParts(conv, [operator]);
  expect(failures).toEqual([]);
  expect([...axes.keys()]).toEqual([2, 3]);
});

test('integer convolutions', async () => {
  const bytes = (dims: readonly number[]) => fixed(random(dims, 'uint8'));
  const scale = (count: number) =>
    fixed(
      float32Tensor(
        count === 0 ? [] : [count],
        Array.from({ length: Math.max(1, count) }, (_, i) => 0.1 + i / 20),
      ),
    );
  await checkRule(
    convInteger,
    shape.map((given) => ({
      opType: 'ConvInteger',
      attributes: convAttributes({ ...given, autoPad: null }),
      inputs: [
        activation([1, given.group * given.inputs, given.rows, 7], 'uint8'),
        bytes([given.group * given.outputs, given.inputs, ...given.kernel]),
        bytes([]),
      ],
      outputType: 'int32' as const,
    })),
    { axes: [1, 2] },
  );
  await checkRule(
    qLinearConv,
    shape.map((given) => {
      const outputs = given.group * given.outputs;
      const perChannel = given.bias ? outputs : 0;
      return {
        opType: 'QLinearConv',
        attributes: convAttributes({ ...given, autoPad: null }),
        inputs: [
          activation([1, given.group * given.inputs, given.rows, 7], 'uint8'),
          scale(0),
          bytes([]),
          fixed(random([outputs, given.inputs, ...given.kernel], 'int8')),
          scale(perChannel),
          fixed({
            dataType: 'int8',
            dims: perChannel === 0 ? [] : [perChannel],
            data: new Uint8Array(Math.max(1, perChannel)),
          }),
          scale(0),
          bytes([]),
          given.bias ? fixed(random([outputs], 'int32')) : null,
        ],
      };
    }),
    { axes: [1, 2] },
  );
});

const transposedCases: fc.Arbitrary<OperatorCase> = fc
  .tuple(shape, fc.boolean(), fc.tuple(fc.integer({ min: 0, max: 2 }), fc.integer({ min: 0, max: 2 })))
  .map(([given, explicitShape, padding]) => {
    const { group, inputs, outputs, kernel, strides, dilations, pads, autoPad, rows, bias } = given;
    const height = rows - 8;
    const extent = kernel.map((k, i) => (k - 1) * (dilations?.[i] ?? 1) + 1);
    const stride = strides ?? [1, 1];
    const output = padding.map((p, i) => Math.min(p, (stride[i] ?? 1) - 1));
    const fits = (side: number) => (at: number) => Math.min(at, Math.floor(((extent[side] ?? 1) - 1) / 2));
    const full = [height, 4].map(
      (length, i) => (length - 1) * (stride[i] ?? 1) + (extent[i] ?? 1) + (output[i] ?? 0),
    );
    return {
      opType: 'ConvTranspose',
      attributes: present({
        group: int(group),
        strides: strides === null ? undefined : ints(...strides),
        dilations: dilations === null ? undefined : ints(...dilations),
        output_padding: ints(...output),
        output_shape: explicitShape
          ? ints(...full.map((length, i) => length - Math.min(2, (extent[i] ?? 1) - 1)))
          : undefined,
        pads:
          pads === null || autoPad !== null || explicitShape
            ? undefined
            : ints(...pads.map((at, i) => fits(i % 2)(at))),
        auto_pad: autoPad === null ? undefined : text(autoPad),
      }),
      inputs: [
        activation([1, group * inputs, height, 4]),
        weight([group * inputs, outputs, ...kernel]),
        bias ? weight([group * outputs]) : null,
      ],
    };
  });

test('ConvTranspose by channels, groups and rows', async () => {
  await checkRule(convTranspose, transposedCases, { axes: [1, 2, 3], numRuns: 60 });
});

test('a halo shifted by one row is found', async () => {
  const shifted: OpRule = {
    ...conv,
    needs(view, slab) {
      const needs = conv.needs(view, slab);
      return needs?.map((need) => {
        const inside = typeof need === 'object' && need.axis === 2 && (need.ranges.at(-1)?.[1] ?? 0) < 9;
        return inside ? { ...need, ranges: shift(need.ranges, 1) } : need;
      });
    },
    emit(view, part, builder) {
      const orders = conv.needs(view, part)?.map((need) => (typeof need === 'object' ? need.ranges : []));
      const inputs = part.inputs.map(({ name }, i) => ({ name, order: orders?.[i] ?? [] }));
      return conv.emit(view, part.axis === 2 ? { ...part, inputs } : part, builder);
    },
  };
  const operator: OperatorCase = {
    opType: 'Conv',
    attributes: { pads: ints(1, 1, 1, 1) },
    inputs: [activation([1, 3, 9, 9]), weight([4, 3, 3, 3])],
  };
  expect((await checkParts(conv, [operator])).failures).toEqual([]);
  const { failures } = await checkParts(shifted, [operator]);
  expect(failures.length).toBeGreaterThan(0);
  expect(failures.every((failure) => failure.includes('axis 2'))).toBe(true);
});
