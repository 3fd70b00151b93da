/** The DNNScaler authors' measured latencies, which lie beside the repository and are not part of it. */
import { existsSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { array, number, object, parse, string } from 'valibot';

const file = fileURLToPath(new URL('../../../shared/data/dnnscaler-instance-latency.json', import.meta.url));

const schema = object({
  instances: array(number()),
  rows: array(object({ dataset: string(), network: string(), latencyMs: array(number()) })),
});

export interface InstanceLatencies {
  /** Data set and network. */
  readonly name: string;
  readonly network: string;
  /** With 1, 2, ... 10 instances, in milliseconds. */
  readonly latencyMs: readonly number[];
}

export const missingLatencies =
  'The measured latencies of DNNScaler are not there (../shared/data/dnnscaler-instance-latency.json): what replays them is skipped.';

/** Null, where there is no such file. */
export function readInstanceLatencies(): readonly InstanceLatencies[] | null {
  if (!existsSync(file)) return null;
  const { rows } = parse(schema, JSON.parse(readFileSync(file, 'utf8')));
  return rows.map(({ dataset, network, latencyMs }) => ({
    name: `${dataset} ${network}`,
    network,
    latencyMs,
  }));
}
