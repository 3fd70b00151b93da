/**
 * Levels of the graph of all devices, and the stages they give: level(node) = the largest level of what it
 * reads, plus one where the edge crosses devices. Every device computes the same levels, so none waits for
 * another that waits for it.
 */
import type { Node } from '../../graph/graph.ts';
import type { Stage } from './program.ts';

export interface DeviceNodes {
  readonly nodes: readonly Node[];
  /** Local name of a received tensor -> where it is made. */
  readonly received: ReadonlyMap<string, { readonly device: number; readonly name: string }>;
  /** Local names that are sent to other devices. */
  readonly sent: ReadonlySet<string>;
  /** Local names that are read from outside: sent, or results for the host. */
  readonly wanted: ReadonlySet<string>;
}

/** [device] name -> level at which it is there; feeds and constants are there at level 0. */
export function levelsOf(
  devices: readonly DeviceNodes[],
  readsOf: (node: Node) => readonly string[],
): Map<string, number>[] {
  const makers = devices.map(({ nodes }) => {
    const byOutput = new Map<string, Node>();
    for (const node of nodes) for (const output of node.outputs) byOutput.set(output, node);
    return byOutput;
  });
  const levels = devices.map(() => new Map<string, number>());
  // Values wait on an explicit stack: deep networks would overflow the call stack.
  const stack: { device: number; name: string }[] = [];
  devices.forEach(({ nodes, sent }, device) => {
    for (const name of [...sent, ...nodes.flatMap(({ outputs }) => outputs)]) stack.push({ device, name });
  });
  const dependencies = (device: number, name: string) => {
    const origin = devices[device]?.received.get(name);
    if (origin !== undefined) return [{ ...origin, crossing: 1 }];
    const maker = makers[device]?.get(name);
    return (maker === undefined ? [] : readsOf(maker)).map((input) => ({ device, name: input, crossing: 0 }));
  };
  for (let top = stack.at(-1); top !== undefined; top = stack.at(-1)) {
    const { device, name } = top;
    const known = levels[device];
    if (known?.has(name) === true) {
      stack.pop();
      continue;
    }
    const needed = dependencies(device, name);
    const missing = needed.filter((need) => levels[need.device]?.has(need.name) !== true);
    if (missing.length > 0) {
      stack.push(...missing);
      continue;
    }
    const level = needed.map((need) => (levels[need.device]?.get(need.name) ?? 0) + need.crossing);
    known?.set(name, Math.max(0, ...level));
    stack.pop();
  }
  return levels;
}

/** Divides a device's nodes by level, and each level into what its sends need and the rest. */
export function stagesOf(
  device: DeviceNodes,
  levels: ReadonlyMap<string, number>,
  readsOf: (node: Node) => readonly string[],
): Stage[] {
  const levelOf = (node: Node) => levels.get(node.outputs[0] ?? '') ?? 0;
  const urgent = new Set<string>();
  for (const node of device.nodes.toReversed()) {
    const feedsSend = node.outputs.some((output) => device.sent.has(output) || urgent.has(output));
    if (!feedsSend) continue;
    for (const output of node.outputs) urgent.add(output);
    // Only within the level: what an earlier level made is there already.
    for (const input of readsOf(node)) if (levels.get(input) === levelOf(node)) urgent.add(input);
  }
  const groups = new Map<number, Node[]>();
  for (const node of device.nodes) {
    const order = 2 * levelOf(node) + (node.outputs.some((output) => urgent.has(output)) ? 0 : 1);
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
