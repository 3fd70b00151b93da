/** `starling import-tfjs`: a TF.js layers-model on disk to an ONNX file. */
import { importTfjsLayersModel } from '../../compiler/importTfjs/importTfjsLayersModel.ts';
import { tfjsWeightPaths } from '../../compiler/importTfjs/readWeights.ts';
import type { Model } from '../../graph/graph.ts';
import { saveModel } from '../../graph/save.ts';
import { type Command, parseArguments, required } from '../command.ts';
import { readJson, writeBytes } from '../files.ts';
import { siblingReader } from '../siblingReader.ts';

export const importTfjs: Command = {
  name: 'import-tfjs',
  summary: 'Turn a TensorFlow.js layers-model into an ONNX model.',
  usage: 'MODEL_JSON --out FILE',
  async run(args, terminal) {
    const { values, positionals } = parseArguments(args, { out: { type: 'string' } }, ['MODEL_JSON']);
    const out = required(values.out, '--out');
    const model = await importTfjsFiles(positionals[0] ?? '');
    await writeBytes(out, saveModel(model).bytes);
    const { nodes, initializers } = model.graph;
    terminal.print(`${out}: ${nodes.length} nodes, ${initializers.size} initializers`);
    return 0;
  },
};

/** Reads model.json and the weight files that it names beside it. Throws StarlingError. */
export async function importTfjsFiles(modelJsonPath: string): Promise<Model> {
  const json = await readJson(modelJsonPath, 'MODEL_NOT_FOUND', 'MODEL_UNREADABLE');
  const read = siblingReader(modelJsonPath);
  return importTfjsLayersModel(json, Buffer.concat(tfjsWeightPaths(json).map(read)));
}
