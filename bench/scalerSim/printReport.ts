/** The report as tables for a terminal. */
import type { Setting } from '../../web/scaler/setting.ts';
import type { Results, summarise } from './summarise.ts';

type Summary = Omit<ReturnType<typeof summarise>, keyof Results>;

export function printReport(report: Summary & Results): void {
  const { replays, curves, followed, estimator, ...summary } = report;
  console.log(JSON.stringify(summary, null, 1));
  if (estimator !== null) console.table(percentages(estimator));
  if (replays !== null) console.table(replays);
  console.table(
    curves.map((c) => ({
      curve: c.name,
      'p95 ms': Math.round(c.p95Ms),
      best: text(c.best.setting),
      joint: text(c.policies.joint.setting),
      'regret %': percent(c.regret),
      'joint/s': Math.round(c.policies.joint.throughputWithin),
      'batching/s': Math.round(c.policies.batching.throughputWithin),
      'instances/s': Math.round(c.policies.instances.throughputWithin),
      'clipper/s': Math.round(c.policies.clipper.throughputWithin),
      right: c.rightApproach,
      profiled: c.profiledApproach,
    })),
  );
  console.table(
    followed.flatMap(({ name, policy, steps }) =>
      steps.map(({ change, windows, violations, regret }) => ({
        name,
        policy,
        change,
        windows,
        'missed %': percent(violations),
        'regret %': regret === null ? '' : percent(regret),
      })),
    ),
  );
}

function text({ batch, instances, threads }: Setting): string {
  return `${batch} x ${instances}${threads === 1 ? '' : ` x ${threads} threads`}`;
}

function percent(share: number): number {
  return Number((100 * share).toFixed(1));
}

function percentages(shares: object): Record<string, number> {
  return Object.fromEntries(Object.entries(shares).map(([name, share]) => [name, percent(Number(share))]));
}
