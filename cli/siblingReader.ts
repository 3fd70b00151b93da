/** Reads, at once, files that a model names beside itself: ONNX external data, weight files of TensorFlow.js. */
import { closeSync, fstatSync, openSync, readSync, realpathSync } from 'node:fs';
import { dirname, isAbsolute, join, normalize, relative, sep } from 'node:path';
import { StarlingError } from '../protocol/errors.ts';
import { readError } from './files.ts';

/** Node reads at most 2 GiB in one call; PyTorch writes weights above that into one file beside the model. */
const pieceBytes = 2 ** 30;

/**
 * A name that leads out of the model's folder is refused, and so is a link that does: a model that came from elsewhere must
 * not name other files of this machine. Throws MODEL_UNREADABLE, DATA_FILE_MISSING or FILE_UNREADABLE.
 */
export function siblingReader(modelPath: string): (location: string) => Uint8Array {
  const folder = dirname(modelPath);
  return (location) => {
    const path = normalize(location);
    const outside = () =>
      new StarlingError(
        'MODEL_UNREADABLE',
        `${modelPath} names the data file ${location}, which lies outside its folder.`,
      );
    if (isAbsolute(path) || leadsUp(path)) throw outside();
    const sibling = join(folder, path);
    try {
      // Caches of downloads keep both files elsewhere, side by side, and link to them.
      const real = realpathSync(sibling);
      const folders = [realpathSync(folder), dirname(realpathSync(modelPath))];
      if (folders.every((one) => leadsUp(relative(one, real)))) throw outside();
      return readWhole(real);
    } catch (thrown) {
      const error = readError(thrown, sibling, 'DATA_FILE_MISSING');
      if (error.code !== 'DATA_FILE_MISSING') throw error;
      throw new StarlingError(
        'DATA_FILE_MISSING',
        `${modelPath} keeps weights in a file of its own, and ${sibling} does not exist; put it there.`,
        { cause: thrown },
      );
    }
  };
}

function leadsUp(path: string): boolean {
  return path === '..' || path.startsWith(`..${sep}`) || isAbsolute(path);
}

function readWhole(path: string): Uint8Array {
  const file = openSync(path, 'r');
  try {
    const bytes = new Uint8Array(fstatSync(file).size);
    for (let offset = 0; offset < bytes.length; ) {
      const read = readSync(file, bytes, offset, Math.min(pieceBytes, bytes.length - offset), offset);
      if (read === 0) return bytes.subarray(0, offset);
      offset += read;
    }
    return bytes;
  } finally {
    closeSync(file);
  }
}
