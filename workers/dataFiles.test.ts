/** Files that a person gave, found as the model names them. */
import { describe, expect, it } from 'vitest';
import { matchDataFiles } from './dataFiles.ts';

const given = (...paths: string[]) => new Map(paths.map((path) => [path, path]));
const matched = (wanted: readonly string[], ...paths: string[]) =>
  Object.fromEntries(matchDataFiles(wanted, given(...paths)));

describe('matchDataFiles', () => {
  it('finds a file by its name, whatever else was given', () => {
    expect(matched(['model.onnx.data'], 'picture.png', 'model.onnx.data')).toEqual({
      'model.onnx.data': 'model.onnx.data',
    });
    expect(matched(['./model.onnx.data'], 'model.onnx.data')).toEqual({
      './model.onnx.data': 'model.onnx.data',
    });
    expect(matched([], 'picture.png')).toEqual({});
  });

  it('finds files of a folder by their paths, below whatever folder was dropped', () => {
    expect(matched(['a/w.bin', 'b/w.bin', 'v.bin'], 'net/b/w.bin', 'net/a/w.bin', 'net/v.bin')).toEqual({
      'a/w.bin': 'net/a/w.bin',
      'b/w.bin': 'net/b/w.bin',
      'v.bin': 'net/v.bin',
    });
    expect(matched(['a\\w.bin'], 'net/a/w.bin')).toEqual({ 'a\\w.bin': 'net/a/w.bin' });
  });

  it('finds a file of a folder by its name alone, unless there are two of them', () => {
    expect(matched(['parts/w.bin'], 'w.bin')).toEqual({ 'parts/w.bin': 'w.bin' });
    expect(() => matched(['a/w.bin', 'b/w.bin'], 'w.bin')).toThrow(/“a\/w.bin” and “b\/w.bin”/);
  });

  it('takes no file whose name only ends alike', () => {
    expect(() => matched(['w.bin'], 'new.bin', 'aw.bin')).toThrow(/“w.bin”/);
  });

  it('names what is missing, and counts the rest', () => {
    const thrown = (wanted: readonly string[], ...paths: string[]) => {
      try {
        matched(wanted, ...paths);
      } catch (error) {
        return error;
      }
      return undefined;
    };
    expect(thrown(['a', 'b'], 'a')).toMatchObject({
      code: 'DATA_FILE_MISSING',
      message: expect.stringContaining('a file of their own, “b”: give that one too'),
    });
    expect(thrown(['a', 'b', 'c', 'd', 'e'])).toMatchObject({
      message: expect.stringContaining('files of their own, “a”, “b”, “c” and 2 more'),
    });
  });
});
