import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { readNpy, writeNpy } from './npy.ts';

describe('npy', () => {
  it('writes the bytes that NumPy writes', () => {
    // numpy.save of numpy.array([[1, 2, 3]], dtype='<f4')
    const file = writeNpy({
      dataType: 'float32',
      dims: [1, 3],
      data: new Uint8Array(Float32Array.of(1, 2, 3).buffer),
    });
    const header = "{'descr': '<f4', 'fortran_order': False, 'shape': (1, 3), }";
    const expected = Buffer.concat([
      Buffer.from('934e554d5059' + '0100' + '7600', 'hex'),
      Buffer.from(`${header.padEnd(117)}\n`),
      Buffer.from(Float32Array.of(1, 2, 3).buffer),
    ]);
    expect(Buffer.from(file).equals(expected)).toBe(true);
  });

  it('reads back what it wrote, scalars and empty arrays included', () => {
    fc.assert(
      fc.property(fc.array(fc.nat(5), { maxLength: 4 }), (dims) => {
        const bytes = 2 * dims.reduce((product, dim) => product * dim, 1);
        const array = {
          dataType: 'int16' as const,
          dims,
          data: Uint8Array.from({ length: bytes }, (_, i) => i),
        };
        expect(readNpy(writeNpy(array))).toEqual(array);
      }),
    );
  });

  it('reads version 2', () => {
    const header = "{'descr': '|u1', 'fortran_order': False, 'shape': (2,), }\n";
    const length = Buffer.alloc(4);
    length.writeUInt32LE(header.length);
    const file = Buffer.concat([
      Buffer.from('934e554d50590200', 'hex'),
      length,
      Buffer.from(header),
      Buffer.of(7, 8),
    ]);
    expect(readNpy(new Uint8Array(file))).toEqual({
      dataType: 'uint8',
      dims: [2],
      data: Uint8Array.of(7, 8),
    });
  });

  it('refuses what it does not understand, in one sentence', () => {
    const good = writeNpy({ dataType: 'uint8', dims: [4], data: new Uint8Array(4) });
    const changed = (from: string, to: string) =>
      new Uint8Array(Buffer.from(Buffer.from(good).toString('latin1').replace(from, to), 'latin1'));
    const cases: readonly (readonly [Uint8Array, RegExp])[] = [
      [new Uint8Array(3), /not an \.npy file/],
      [good.slice(0, 40), /ends inside its header/],
      [good.slice(0, -1), /expected to hold 4 bytes, got 3/],
      [changed('False', 'True '), /column-major/],
      [changed('|u1', '>f4'), /holds >f4/],
      [changed("'shape'", "'shade'"), /header that is not understood/],
    ];
    for (const [bytes, message] of cases) {
      expect(() => readNpy(bytes, 'x.npy')).toThrowError(
        expect.objectContaining({ code: 'INPUT_INVALID', message: expect.stringMatching(message) }),
      );
    }
  });
});
