/** Which of the files that a person gives are a model, and which may hold its weights. Judged by their names alone. */
import type { GivenFile } from './givenFiles.ts';

/** Exporters call data files by many names. */
const dataFileTypes = ['.data', '.onnx_data', '.bin', '.weight', '.weights'];
/** What a person is shown when they choose. */
export const modelFileTypes = ['.onnx', ...dataFileTypes].join();

export interface ModelFiles {
  readonly model: File;
  /** All else that came with it, by path. */
  readonly dataFiles: ReadonlyMap<string, File>;
}

/** The first model among them, with the rest; null where there is none. */
export function modelFilesOf(files: readonly GivenFile[]): ModelFiles | null {
  const model = files.find(({ file }) => /\.onnx$/i.test(file.name));
  if (model === undefined) return null;
  const others = files.filter((one) => one !== model);
  return { model: model.file, dataFiles: new Map(others.map(({ path, file }) => [path, file])) };
}

export function withDataFiles({ model, dataFiles }: ModelFiles, more: readonly GivenFile[]): ModelFiles {
  return {
    model,
    dataFiles: new Map([...dataFiles, ...more.map(({ path, file }) => [path, file] as const)]),
  };
}

export function isDataFile(name: string): boolean {
  const lower = name.toLowerCase();
  return dataFileTypes.some((type) => lower.endsWith(type)) || /\.onnx[._-]/.test(lower);
}
