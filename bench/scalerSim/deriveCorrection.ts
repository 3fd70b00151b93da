/**
 * Writes web/scaler/latencyCorrection.ts from the measured latencies.
 *
 *   npx tsx bench/scalerSim/deriveCorrection.ts
 */
import { writeFileSync } from 'node:fs';
import { fitCorrection } from './fitCorrection.ts';
import { missingLatencies, readInstanceLatencies } from './instanceLatencies.ts';

const networks = readInstanceLatencies();
if (networks === null) {
  console.error(missingLatencies);
  process.exit(1);
}
const { firstRatio, rowsPerOctave, factors } = fitCorrection(networks);
const rows = factors.map((row) => `    [${row.join(', ')}],`).join('\n');
writeFileSync(
  new URL('../../web/scaler/latencyCorrection.ts', import.meta.url),
  `/**
 * Learned constants of the latency estimate, written by bench/scalerSim/deriveCorrection.ts; do not edit. Smoothed
 * over ${networks.length} networks that the authors of DNNScaler measured with 1 to 10 instances on one GPU (arXiv 2308.13803).
 */
import type { LatencyCorrection } from './latencyEstimate.ts';

export const latencyCorrection: LatencyCorrection = {
  firstRatio: ${firstRatio},
  rowsPerOctave: ${rowsPerOctave},
  factors: [
${rows}
  ],
};
`,
);
