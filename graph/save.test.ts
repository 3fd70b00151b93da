import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { StarlingError } from '../protocol/errors.ts';
import type { Attribute, Model, Node } from './graph.ts';
import { loadModel } from './load.ts';
import { saveModel } from './save.ts';
import type { Tensor } from './tensor.ts';

const dims = fc.array(fc.integer({ min: 0, max: 3 }), { maxLength: 3 });
const fixedTypes = {
  float32: 4,
  uint8: 1,
  int8: 1,
  int64: 8,
  bool: 1,
  float16: 2,
  float64: 8,
  uint64: 8,
} as const;
const tensor: fc.Arbitrary<Tensor> = fc
  .tuple(fc.constantFrom(...(Object.keys(fixedTypes) as (keyof typeof fixedTypes)[])), dims)
  .chain(([dataType, shape]) => {
    const length = fixedTypes[dataType] * shape.reduce((a, b) => a * b, 1);
    return fc
      .uint8Array({ minLength: length, maxLength: length })
      .map((data) => ({ dataType, dims: shape, data: dataType === 'bool' ? data.map((v) => v & 1) : data }));
  });
// Names that verify.ts knows a type for would be rejected by chance.
const attribute: fc.Arbitrary<Attribute> = fc.oneof(
  fc.record({
    type: fc.constant('int' as const),
    value: fc.oneof(fc.maxSafeInteger(), fc.constantFrom(2 ** 63, -(2 ** 63))),
  }),
  fc.record({ type: fc.constant('float' as const), value: fc.float({ noNaN: true }) }),
  fc.record({ type: fc.constant('string' as const), value: fc.string({ unit: 'grapheme' }) }),
  fc.record({ type: fc.constant('tensor' as const), value: tensor }),
  fc.record({ type: fc.constant('ints' as const), value: fc.array(fc.maxSafeInteger()) }),
  fc.record({ type: fc.constant('floats' as const), value: fc.array(fc.float({ noNaN: true })) }),
  fc.record({ type: fc.constant('strings' as const), value: fc.array(fc.string({ unit: 'grapheme' })) }),
);
const model: fc.Arbitrary<Model> = fc
  .record({
    weights: fc.array(tensor, { maxLength: 4 }),
    steps: fc.array(
      fc.record({
        attributes: fc.array(attribute, { maxLength: 3 }),
        reads: fc.array(fc.nat(), { maxLength: 3 }),
      }),
      {
        minLength: 1,
        maxLength: 6,
      },
    ),
    shape: fc.array(fc.oneof(fc.nat(9), fc.constantFrom('N', 'height'), fc.constant(null)), { maxLength: 4 }),
  })
  .map(({ weights, steps, shape }): Model => {
    const names = ['x', ...weights.map((_, i) => `w${i}`)];
    const nodes = steps.map(({ attributes, reads }, i): Node => {
      const inputs = reads.map((read) => (read % 5 === 4 ? '' : (names[read % names.length] ?? 'x')));
      names.push(`v${i}`);
      const entries = attributes.map((value, j) => [`a${j}`, value] as const);
      return {
        name: `n${i}`,
        opType: 'Custom',
        domain: 'test',
        inputs,
        outputs: [`v${i}`, ''],
        attributes: new Map(entries),
      };
    });
    const info = (name: string) => ({ name, dataType: 'float32' as const, shape });
    return {
      irVersion: 8,
      opsets: new Map([
        ['', 17],
        ['test', 1],
      ]),
      producer: 'test',
      metadata: new Map([['key', 'value']]),
      graph: {
        name: 'arbitrary',
        inputs: [info('x')],
        outputs: [info(`v${steps.length - 1}`)],
        nodes,
        initializers: new Map(weights.map((weight, i) => [`w${i}`, weight])),
        values: new Map(steps.slice(0, -1).map((_, i) => [`v${i}`, info(`v${i}`)])),
      },
    };
  });

describe('saved and loaded again', () => {
  it('an arbitrary model is the same, with its weights inside or beside it', () => {
    fc.assert(
      fc.property(model, fc.nat(16), (original, threshold) => {
        expect(loadModel(saveModel(original).bytes)).toEqual(original);
        const saved = saveModel(original, { external: { path: 'w.bin', threshold } });
        expect(loadModel(saved.bytes, () => saved.external ?? new Uint8Array())).toEqual(original);
      }),
    );
  });

  it('damaged bytes end in a StarlingError or in a model, never in another error', () => {
    const check = (bytes: Uint8Array): void => {
      try {
        loadModel(bytes, () => new Uint8Array(64));
      } catch (thrown) {
        if (!(thrown instanceof StarlingError)) throw thrown;
      }
    };
    fc.assert(fc.property(fc.uint8Array({ maxLength: 200 }), check), { numRuns: 300 });
    fc.assert(
      fc.property(
        model,
        fc.array(fc.tuple(fc.nat(), fc.nat(255)), { minLength: 1, maxLength: 8 }),
        fc.nat(),
        (m, edits, cut) => {
          const bytes = saveModel(m).bytes.slice();
          for (const [at, value] of edits) bytes[at % bytes.length] = value;
          check(bytes);
          check(saveModel(m).bytes.subarray(0, cut % bytes.length));
        },
      ),
      { numRuns: 300 },
    );
  });
});
