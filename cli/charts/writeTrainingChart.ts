/** chart.svg of a training's folder, made from its log and its curve. */
import { join } from 'node:path';
import { writeBytes } from '../files.ts';
import { readCurve } from '../trainingCurve.ts';
import { readLog } from '../trainingFolder.ts';
import { trainingChart } from './trainingChart.ts';

export async function writeTrainingChart(folder: string): Promise<void> {
  const curve = await readCurve(join(folder, 'curve.json'));
  const svg = trainingChart(await readLog(join(folder, 'log.jsonl')), curve?.levels ?? []);
  await writeBytes(join(folder, 'chart.svg'), svg);
}
