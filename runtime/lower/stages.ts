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
  const sorted = [...groups].sort(([a], [b]) => a - b);
  return sorted.map(([order, nodes]) => stageOf(device, nodes, order, readsOf));
}

function stageOf(
  device: DeviceNodes,
  nodes: readonly Node[],
  order: number,
  readsOf: (node: Node) => readonly string[],
): Stage {
  const made = new Set(nodes.flatMap(({ outputs }) => outputs));
  const within = new Set(nodes);
  const readElsewhere = new Set(device.nodes.filter((node) => !within.has(node)).flatMap(readsOf));
  const inputs = new Set(nodes.flatMap(readsOf).filter((name) => !made.has(name)));
  const outputs = [...made].filter(
    (name) => name !== '' && (readElsewhere.has(name) || device.wanted.has(name)),
  );
  return { level: order >> 1, sends: order % 2 === 0, nodes, inputs: [...inputs], outputs };
}
