import fc from 'fast-check';
import { test } from 'vitest';
import { activation, int, ints, type OperatorCase, present, text } from '../../tests/support/operatorCase.ts';
import { checkRule } from '../../tests/support/partCheck.ts';
import { globalPool, pool } from './pool.ts';

const columns = 8;

const poolCases: fc.Arbitrary<OperatorCase> = fc
  .record({
    opType: fc.constantFrom('MaxPool', 'AveragePool', 'LpPool'),
    kernel: fc.tuple(fc.integer({ min: 1, max: 4 }), fc.integer({ min: 1, max: 3 })),
    strides: fc.option(fc.tuple(fc.integer({ min: 1, max: 3 }), fc.integer({ min: 1, max: 3 }))),
    dilations: fc.option(fc.tuple(fc.integer({ min: 1, max: 2 }), fc.integer({ min: 1, max: 2 }))),
    pads: fc.option(fc.array(fc.integer({ min: 0, max: 3 }), { minLength: 4, maxLength: 4 })),
    autoPad: fc.constantFrom(null, null, null, 'SAME_UPPER', 'SAME_LOWER', 'VALID'),
    ceil: fc.boolean(),
    countPad: fc.boolean(),
    rows: fc.integer({ min: 8, max: 13 }),
  })
  .map(({ opType, kernel, strides, dilations, pads, autoPad, ceil, countPad, rows }) => {
    const dilated = dilations !== null && opType === 'MaxPool' && autoPad === null ? dilations : undefined;
    // onnxruntime refuses SAME where strides leave gaps, and windows that are nothing but padding.
    const steps = strides?.map((by, i) => (autoPad === null ? by : Math.min(by, kernel[i] ?? 1)));
    const sides = autoPad === null ? pads?.map((at, i) => Math.min(at, (kernel[i % 2] ?? 1) - 1)) : undefined;
    const startsBehind = [rows, columns].some((length, i) => {
      const extent = ((kernel[i] ?? 1) - 1) * (dilated?.[i] ?? 1) + 1;
      const [step, begin, end] = [steps?.[i] ?? 1, sides?.[i] ?? 0, sides?.[i + 2] ?? 0];
      return Math.ceil((length + begin + end - extent) / step) * step >= length + begin;
    });
    // Where rounding up starts a window behind the input, onnxruntime's shape inference contradicts its kernels.
    const ceils = ceil && autoPad === null && opType !== 'LpPool' && !startsBehind;
    return {
      opType,
      attributes: present({
        kernel_shape: ints(...kernel),
        strides: steps === undefined ? undefined : ints(...steps),
        dilations: dilated === undefined ? undefined : ints(...dilated),
        pads: sides === undefined ? undefined : ints(...sides),
        auto_pad: autoPad === null ? undefined : text(autoPad),
        ceil_mode: ceils ? int(1) : undefined,
        count_include_pad: countPad && opType === 'AveragePool' ? int(1) : undefined,
        p: opType === 'LpPool' ? int(2) : undefined,
      }),
      inputs: [activation([1, 3, rows, columns])],
    };
  });

test('MaxPool, AveragePool and LpPool by channels and rows', async () => {
  await checkRule(pool, poolCases, { axes: [1, 2, 3], numRuns: 150 });
});

test('global pools by channels', async () => {
  const cases = fc
    .constantFrom('GlobalAveragePool', 'GlobalMaxPool', 'GlobalLpPool')
    .map((opType) => ({ opType, attributes: {}, inputs: [activation([2, 5, 4, 3])] }));
  await checkRule(globalPool, cases, { axes: [1], numRuns: 6 });
});
