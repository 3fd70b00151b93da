/** Cuts a device's nodes into stages: what runs between two waits, and first in each level what others wait for. */
import type { Node } from '../../graph/graph.ts';
import type { Stage } from './program.ts';

export interface DeviceNodes {
  readonly nodes: readonly Node[];
  readonly levels: ReadonlyMap<Node, number>;
  /** Local names that are sent to other devices, and parts of outputs that leave before the rest of them is made. */
  readonly hurried: ReadonlySet<string>;
  /** Local names that are read from outside: sent, or results for the host. */
  readonly wanted: ReadonlySet<string>;
}

/** Divides a device's nodes by level, and each level into what its sends need and the rest. */
export function stagesOf(device: DeviceNodes, readsOf: (node: Node) => readonly string[]): Stage[] {
  const levelOf = (node: Node) => device.levels.get(node) ?? 0;
  const makers = new Map(
    device.nodes.flatMap((node) => node.outputs.map((output) => [output, node] as const)),
  );
  const urgent = new Set<Node>();
  const hurry = (node: Node) => {
    const waiting = [node];
    for (let next = waiting.pop(); next !== undefined; next = waiting.pop()) {
      if (urgent.has(next)) continue;
      urgent.add(next);
      for (const name of readsOf(next)) {
        const maker = makers.get(name);
        // Only within the level: what an earlier level made is there already.
        if (maker !== undefined && levelOf(maker) === levelOf(node)) waiting.push(maker);
      }
    }
  };
  for (const name of device.hurried) {
    const maker = makers.get(name);
    if (maker !== undefined) hurry(maker);
  }
  const groups = new Map<number, Node[]>();
  for (const node of device.nodes) {
    const order = 2 * levelOf(node) + (urgent.has(node) ? 0 : 1);
    const group = groups.get(order) ?? [];
    group.push(node);
    groups.set(order, group);
  }
  const readIn = readingGroups(groups, readsOf);
  const sorted = [...groups].sort(([a], [b]) => a - b);
  return sorted.map(([order, nodes]) => {
    const made = new Set(nodes.flatMap(({ outputs }) => outputs));
    const inputs = new Set(nodes.flatMap(readsOf).filter((name) => !made.has(name)));
    const leaves = (name: string) => {
      const reader = readIn.get(name);
      const readElsewhere = reader !== undefined && reader !== order;
      return name !== '' && (readElsewhere || device.wanted.has(name));
    };
    const outputs = [...made].filter(leaves);
    return { level: order >> 1, sends: order % 2 === 0, nodes, inputs: [...inputs], outputs };
  });
}

/** The only group in which a name is read, or `several`. */
function readingGroups(
  groups: ReadonlyMap<number, readonly Node[]>,
  readsOf: (node: Node) => readonly string[],
): ReadonlyMap<string, number | 'several'> {
  const readIn = new Map<string, number | 'several'>();
  for (const [order, nodes] of groups) {
    for (const name of nodes.flatMap(readsOf)) {
      const before = readIn.get(name);
      if (before !== order) readIn.set(name, before === undefined ? order : 'several');
    }
  }
  return readIn;
}
