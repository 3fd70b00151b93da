/** The division that a training thins: a plan's, or one made here; kept in the run's folder, so that a resumed run divides alike. */
import { existsSync } from 'node:fs';
import { analyse } from '../compiler/analyse.ts';
import type { Calibration } from '../compiler/calibrate/calibration.ts';
import { divideByChannels } from '../compiler/divide/divideChannels.ts';
import type { NormalisedGraph } from '../compiler/normalise/normaliseModel.ts';
import type { TrainingData } from '../compiler/train/trainingData.ts';
import { StarlingError } from '../protocol/errors.ts';
import type { Backend } from '../runtime/backend.ts';
import type { Division } from '../runtime/lower/program.ts';
import { readDivision, writeDivision } from './divisionFile.ts';
import type { TrainingFolder } from './trainingFolder.ts';

interface DivideSettings {
  readonly numShards: number;
  readonly batch: number;
  readonly owners: 'contiguous' | 'assigned';
}

/** Samples that owners are assigned by. */
const assignmentSamples = 2000;

/** Throws USAGE for a plan of another number of shards. */
export async function divideForTraining(
  { model, batchOpen }: NormalisedGraph,
  given: Division | undefined,
  { numShards, batch, owners }: DivideSettings,
  folder: TrainingFolder,
  backend: Backend,
  data: TrainingData,
): Promise<Division> {
  const path = folder.path('division.json');
  if (existsSync(path)) return readDivision(path);
  if (given !== undefined && given.numShards !== numShards) {
    throw new StarlingError(
      'USAGE',
      `The plan has ${given.numShards} shards; give --shards ${given.numShards} or none.`,
    );
  }
  const made = async (): Promise<Division> => {
    if (owners === 'contiguous') return divideByChannels(model.graph, numShards, batchOpen);
    const input = model.graph.inputs[0]?.name ?? '';
    const calibration = calibrationOf(data, input, batch, assignmentSamples);
    return (await analyse(model, { numShards, calibration, backend, openBatch: batchOpen })).division;
  };
  const division = given ?? (await made());
  await writeDivision(path, division);
  return division;
}

/** The first samples, as they come. */
export function calibrationOf(
  data: TrainingData,
  input: string,
  batch: number,
  samples: number,
): Calibration {
  const batches = Math.max(1, Math.ceil(Math.min(samples, data.count) / batch));
  return {
    samples: batches * batch,
    async *batches() {
      for (let i = 0; i < batches; i++) {
        const indices = Array.from({ length: batch }, (_, at) => (i * batch + at) % data.count);
        yield { [input]: await data.batch(indices) };
      }
    },
  };
}
