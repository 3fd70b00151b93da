/** `starling compile`: an ONNX model to a plan for some number of shards. */
import { basename, join } from 'node:path';
import {
  type CompileOptions,
  type CompileStep,
  compileModel,
  type DivisionAxis,
} from '../../compiler/compile.ts';
import { loadModel } from '../../graph/load.ts';
import { StarlingError } from '../../protocol/errors.ts';
import { limits } from '../../protocol/limits.ts';
import { localLink } from '../../runtime/predict/costModel.ts';
import { chooseBackend } from '../backendOption.ts';
import { type Command, parseArguments, required } from '../command.ts';
import { compileArguments, compileHelp } from '../compileArguments.ts';
import { readDivision } from '../divisionFile.ts';
import { parseExchange } from '../exchangeOptions.ts';
import { readBytes, writeBytes } from '../files.ts';
import { parseDevices, parseLink } from '../linkOption.ts';
import { parseMemory } from '../memoryOption.ts';
import { parsePixels } from '../pixelOption.ts';
import { planText } from '../planText.ts';
import { createProgress } from '../progress.ts';
import { siblingReader } from '../siblingReader.ts';
import { parseSweep, sweep } from '../sweep.ts';

const axes: readonly string[] = ['channels', 'rows', 'auto', 'layers'] satisfies readonly DivisionAxis[];

/** `name=1x3x224x224`. Throws StarlingError USAGE. */
function parseShapes(options: readonly string[]): Record<string, number[]> {
  return Object.fromEntries(
    options.map((option) => {
      const [name, dims] = [
        option.slice(0, option.lastIndexOf('=')),
        option.slice(option.lastIndexOf('=') + 1),
      ];
      const shape = dims.split('x').map(Number);
      if (name !== '' && shape.every((dim) => Number.isInteger(dim) && dim > 0)) return [name, shape];
      throw new StarlingError('USAGE', `Expected --shape like input=1x3x224x224, got "${option}".`);
    }),
  );
}

/** Names with commas between, or a file with one a line. Throws StarlingError FILE_UNREADABLE. */
async function parseClasses(text: string): Promise<string[]> {
  const isFile = !text.includes(',');
  const names = isFile
    ? new TextDecoder()
        .decode(await readBytes(text, 'FILE_UNREADABLE'))
        .trim()
        .split(/\r?\n/)
    : text.split(',');
  return names.map((name) => name.trim());
}

/** Throws StarlingError USAGE. */
function parseShards(text: string): number {
  const numShards = Number(text);
  if (Number.isInteger(numShards) && numShards >= 1 && numShards <= limits.shards) return numShards;
  throw new StarlingError('USAGE', `Expected --shards from 1 to ${limits.shards}, got "${text}".`);
}

function parseAxis(text: string): DivisionAxis {
  if (axes.includes(text)) return text as DivisionAxis;
  throw new StarlingError('USAGE', `Expected --axis ${axes.join(' or ')}, got "${text}".`);
}

const steps: readonly CompileStep[] = ['load', 'normalise', 'divide', 'lower', 'emit'];

export const compile: Command = {
  name: 'compile',
  summary: 'Divide an ONNX model into shards: writes a plan.',
  usage: 'MODEL --shards N --out DIR [OPTION]...',
  options: compileHelp,
  async run(args, terminal) {
    const { values, positionals } = parseArguments(args, compileArguments, ['MODEL']);
    const [path = ''] = positionals;
    const out = required(values.out, '--out');
    const division = values.division === undefined ? undefined : await readDivision(values.division);
    const numShards = division?.numShards ?? parseShards(required(values.shards, '--shards'));
    const bytes = await readBytes(path, 'MODEL_NOT_FOUND');
    const progress = createProgress({ label: 'Compiling', stream: terminal.stderr });
    const shapes = parseShapes(values.shape);
    const link = values.link === undefined ? localLink : parseLink(values.link);
    const load = () => loadModel(bytes, siblingReader(path));
    const exchange = await parseExchange(values, numShards, link, load, shapes);
    const options: CompileOptions = {
      name: values.name ?? basename(path, '.onnx'),
      numShards,
      axis: parseAxis(values.axis),
      ...(division === undefined ? {} : { division }),
      shapes,
      cost: {
        link,
        devices: parseDevices(values.devices ?? '1', numShards),
        ...(values.memory === undefined ? {} : { memoryBytes: parseMemory(values.memory) }),
      },
      ...(values.pixels === undefined ? {} : { pixels: parsePixels(values.pixels, values) }),
      ...(values.classes === undefined ? {} : { classes: await parseClasses(values.classes) }),
      external: siblingReader(path),
      ...exchange({ onProgress: (step, done, total) => progress.update(done, total, step) }),
      compare: true,
      // Calibration is many inferences; without it WASM starts sooner.
      backend: await chooseBackend(values.calibrate === undefined ? 'wasm' : values.backend),
      onStep: (step) => progress.update(steps.indexOf(step) + 1, steps.length, step),
    };
    if (values.sweep !== undefined) {
      const table = await sweep(bytes, options, parseSweep(values.sweep), out);
      progress.end();
      terminal.print(table);
      return 0;
    }
    const { plan, files } = await compileModel(bytes, options);
    for (const [name, content] of files) await writeBytes(join(out, name), content);
    progress.end();
    terminal.print(planText(plan));
    return 0;
  },
};
