/** What is measured for each model, as data: who computes what, and over which link. */
import type { DivisionAxis } from '../compiler/compile.ts';

/**
 * `sparse` is by channels with a part of the features' bytes exchanged, each number as one byte. `requests` divides
 * nothing: the whole model on each device, and runs spread over them.
 */
export type BenchDivision = DivisionAxis | 'sparse' | 'requests';

export const benchDivisions: readonly BenchDivision[] = [
  'channels',
  'rows',
  'auto',
  'sparse',
  'layers',
  'requests',
];
const wholeInOneTab: readonly BenchDivision[] = ['channels', 'rows'];

/** Shares of the bytes of a dense exchange that `sparse` keeps, before its numbers become bytes. */
const sparseKeeps = [0.2, 0.1];

/** Who computes what, on a plan's side. */
export interface Divided {
  readonly division: BenchDivision;
  readonly numShards: number;
  /** Of `sparse`: share of a dense exchange's bytes that is kept, so that a row tells what quality it goes with. */
  readonly kept?: number;
}

/** Megabits per second both ways; null is whatever two tabs of one browser have. */
export const benchLinks: Readonly<Record<string, number | null>> = {
  unshaped: null,
  '200mbit': 200,
  '50mbit': 50,
  '10mbit': 10,
};

export type Scenario =
  /** The original model in one session of onnxruntime-web's public API. */
  | { readonly kind: 'plain' }
  /** Every shard of a plan in one tab, through the library. */
  | (Divided & { readonly kind: 'one-tab' })
  /** The stages of both devices in one Worker, against the same nodes as one session a device. */
  | (Divided & { readonly kind: 'stages'; readonly numShards: 2 })
  /** One of two shards in each of two tabs, through the library. */
  | (Divided & { readonly kind: 'two-tabs'; readonly numShards: 2; readonly link: string });

export const benchKinds: readonly Scenario['kind'][] = ['plain', 'one-tab', 'stages', 'two-tabs'];

/** Largest time relative to what is named in the issue; scenarios without one are not held to any. */
export const targets: { readonly [Kind in Scenario['kind']]?: number } = { 'one-tab': 1.05, stages: 1.1 };

const shardsInOneTab = [2, 4, 8];

export function scenariosOf(divisions: readonly BenchDivision[], links: readonly string[]): Scenario[] {
  return [
    { kind: 'plain' },
    ...divisions.flatMap((division) => [
      // What is chosen depends on the link, and is one of the others or a mix of them. A thinned one is made for two.
      ...(!wholeInOneTab.includes(division)
        ? []
        : [
            ...shardsInOneTab.map((numShards) => ({ kind: 'one-tab', division, numShards }) as const),
            { kind: 'stages', division, numShards: 2 } as const,
          ]),
      ...(division === 'sparse' ? sparseKeeps.map((kept) => ({ kept })) : [{}]).flatMap((how) =>
        links.map((link): Scenario => ({ kind: 'two-tabs', division, numShards: 2, link, ...how })),
      ),
    ]),
  ];
}

const names: { readonly [Division in BenchDivision]?: string } = {
  layers: 'layers (pipeline)',
  requests: 'requests (whole model on each)',
};

export function titleOf(scenario: Scenario): string {
  if (scenario.kind === 'plain') return 'plain session, one tab';
  const { division, numShards, kept } = scenario;
  const how = kept === undefined ? (names[division] ?? division) : `channels, ${kept} kept, uint8`;
  if (scenario.kind === 'one-tab') return `all ${numShards} shards by ${how}, one tab`;
  if (scenario.kind === 'stages') return `stages of 2 devices by ${how}, one Worker`;
  return `two tabs by ${how}, ${scenario.link}`;
}

/** Of the link that a scenario uses; null is unshaped, or none. */
export function megabitsOf(scenario: Scenario): number | null {
  return scenario.kind === 'two-tabs' ? (benchLinks[scenario.link] ?? null) : null;
}
