/** What a thinned plan costs and how it answers, against the dense one, as text; one plan or several as a table. */
import { keptRatio, type PlanFile } from '../protocol/plan.ts';
import { formatCount, formatTable } from './table.ts';

const head = [
  'kept',
  'of features',
  'bytes',
  'rounds',
  'MACs, largest shard',
  'weight bytes, largest shard',
  'agreement',
  'largest error',
  'relative error (RMS)',
  'accuracy',
];

/** The dense division's costs first. */
export function sparseTable(plans: readonly PlanFile[]): string {
  const dense = plans.find(({ sparse }) => sparse !== undefined)?.sparse;
  if (dense === undefined) return '';
  const { originalAccuracy } = dense.heldOut ?? {};
  const { rounds, exchangedBytes, macsPerShard, weightBytesPerShard } = dense.dense;
  const costs = (bytes: number, count: number, macs: readonly number[], weights: readonly number[]) => [
    formatCount(bytes),
    String(count),
    formatCount(Math.max(...macs)),
    formatCount(Math.max(...weights)),
  ];
  return formatTable([
    head,
    [
      'dense',
      String(dense.denseFeatures),
      ...costs(exchangedBytes, rounds, macsPerShard, weightBytesPerShard),
      '',
      '',
      '',
      originalAccuracy === undefined ? '' : percent(originalAccuracy),
    ],
    ...plans.map((plan) => {
      const { sparse, report } = plan;
      return [
        keptRatio(sparse).toFixed(3),
        String(sparse?.sentFeatures ?? ''),
        ...costs(report.exchangedBytes, report.rounds, report.macsPerShard, report.weightBytesPerShard),
        ...answers(sparse?.heldOut, decides(plan)),
      ];
    }),
  ]);
}

/** Whether some output is rows of scores, of which the largest is the answer. */
export function decides({ outputs }: PlanFile): boolean {
  return outputs.some(({ shape }) => shape.length === 2);
}

function answers(heldOut: NonNullable<PlanFile['sparse']>['heldOut'], scores: boolean): string[] {
  if (heldOut === undefined) return ['', '', '', ''];
  return [
    scores ? percent(heldOut.agreement) : '',
    heldOut.largestError.toPrecision(3),
    percent(heldOut.relativeRms),
    heldOut.accuracy === undefined ? '' : percent(heldOut.accuracy),
  ];
}

function percent(share: number): string {
  return `${(100 * share).toFixed(1)} %`;
}
