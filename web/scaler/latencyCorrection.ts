/**
 * Learned constants of the latency estimate, written by bench/scalerSim/deriveCorrection.ts; do not edit. Smoothed
 * over 18 networks that the authors of DNNScaler measured with 1 to 10 instances on one GPU (arXiv 2308.13803).
 */
import type { LatencyCorrection } from './latencyEstimate.ts';

export const latencyCorrection: LatencyCorrection = {
  firstRatio: 0.5,
  rowsPerOctave: 2,
  factors: [
    [1, 0.9162, 0.8568, 0.6786, 0.5424, 0.5109, 0.55, 0.6179, 0.7375, 0.7735],
    [1, 0.9207, 0.8519, 0.6795, 0.5256, 0.5563, 0.6257, 0.7058, 0.8056, 0.8786],
    [1, 0.8932, 0.8108, 0.7504, 0.682, 0.8077, 0.9, 0.9432, 0.9702, 1.0004],
    [1, 0.8846, 0.8476, 0.7951, 0.8335, 0.9513, 0.9922, 0.9991, 1.0048, 1.0166],
    [1, 0.9244, 0.9939, 1.0773, 1.0178, 1.0038, 1.0016, 1, 0.9989, 1.0269],
    [1, 1.0359, 1.0978, 1.0645, 1.0095, 1.0034, 1.004, 1, 1.0057, 1.0079],
    [1, 1.1278, 1.0582, 1.0068, 0.9502, 0.961, 0.988, 1, 1.0317, 1.0252],
    [1, 1.1242, 1.0168, 0.9998, 0.9535, 0.9499, 0.9762, 1, 1.0111, 1.0016],
    [1, 1.1056, 1.0151, 1.0025, 0.9884, 0.9848, 0.995, 1, 1.0033, 0.9991],
  ],
};
