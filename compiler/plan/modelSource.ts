/** What a plan was made from: the model's file and the data files it names, one after the other, as if they were one. */
import type { PlanFile } from '../../protocol/plan.ts';
import { sha256Hex } from '../../protocol/sha256.ts';

export interface ModelSource {
  /** Hands on what is given, and notes it. */
  readonly external: ((path: string) => Uint8Array) | undefined;
  describe(): Pick<PlanFile['source'], 'sha256' | 'bytes'>;
}

export function modelSource(
  bytes: Uint8Array,
  external: ((path: string) => Uint8Array) | undefined,
): ModelSource {
  const dataFiles = new Map<string, Uint8Array>();
  return {
    external:
      external &&
      ((path) => {
        const file = external(path);
        dataFiles.set(path, file);
        return file;
      }),
    describe() {
      const pieces = [bytes, ...dataFiles.values()];
      return {
        sha256: sha256Hex(...pieces),
        bytes: pieces.reduce((sum, { byteLength }) => sum + byteLength, 0),
      };
    },
  };
}
