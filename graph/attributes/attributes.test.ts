/** Attributes have the specification's defaults, and are read here and nowhere else. */
import { readdirSync, readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { unnamed } from '../../tests/support/dividedAnswer.ts';
import { int, text } from '../../tests/support/operatorCase.ts';
import { concatAttributes, padAttributes, transposeAttributes } from './moves.ts';
import { batchNormalizationAttributes, meanVarianceNormalizationAttributes } from './normalisations.ts';
import { reduceAttributes, softmaxAttributes } from './reductions.ts';
import { resizeAttributes } from './resize.ts';
import { averagePoolAttributes, convTransposeAttributes, windowAttributes } from './windows.ts';

const bare = unnamed('Any', ['x'], ['y']);

describe('attributes', () => {
  it('are by default what the specification says', () => {
    expect(softmaxAttributes(bare)).toEqual({ axis: -1 });
    expect(softmaxAttributes(bare, 12)).toEqual({ axis: 1 });
    expect(transposeAttributes(bare, 3)).toEqual({ perm: [2, 1, 0] });
    expect(concatAttributes(bare).axis).toBeNaN();
    expect(padAttributes(bare)).toEqual({ mode: 'constant', pads: undefined, value: 0 });
    expect(reduceAttributes(bare)).toEqual({ axes: undefined, keepdims: true, noopWithEmptyAxes: false });
    expect(meanVarianceNormalizationAttributes(bare)).toEqual({ axes: [0, 2, 3] });
    expect(batchNormalizationAttributes(bare)).toEqual({
      epsilon: 1e-5,
      momentum: 0.9,
      trainingMode: false,
      spatial: true,
    });
    expect(windowAttributes(bare, 2)).toEqual({
      autoPad: 'NOTSET',
      ceilMode: false,
      dilations: [1, 1],
      kernelShape: undefined,
      pads: [0, 0, 0, 0],
      strides: [1, 1],
    });
    expect(convTransposeAttributes(bare, 1)).toMatchObject({ group: 1, outputPadding: [0] });
    expect(resizeAttributes(bare)).toMatchObject({
      coordinateTransformationMode: 'half_pixel',
      cubicCoeffA: -0.75,
      mode: 'nearest',
      nearestMode: 'round_prefer_floor',
    });
  });

  it('are what the node says, if it says it in the right type', () => {
    const attributes = { count_include_pad: int(1), auto_pad: text('VALID'), ceil_mode: text('yes') };
    expect(averagePoolAttributes(unnamed('AveragePool', [], [], attributes), 1)).toMatchObject({
      autoPad: 'VALID',
      ceilMode: false,
      countIncludePad: true,
    });
  });

  it('are read off a node in this folder alone', () => {
    const root = new URL('../../', import.meta.url);
    const reading = ['backends', 'bench', 'cli', 'compiler', 'graph', 'runtime', 'web', 'workers'].flatMap(
      (folder) =>
        readdirSync(new URL(`${folder}/`, root), { recursive: true, encoding: 'utf8' })
          .map((path) => `${folder}/${path}`)
          .filter((path) => /\.ts$/.test(path) && !/\.test\.ts$|^graph\/attributes\//.test(path))
          .filter((path) => /\battributes\.(get|has)\(/.test(readFileSync(new URL(path, root), 'utf8'))),
    );
    expect(reading).toEqual([]);
  });
});
