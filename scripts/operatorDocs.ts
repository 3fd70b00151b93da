/** docs/operators.md as text, made from the rule tables. */
import { replicatedOperators } from '../graph/ops/replicated.ts';
import type { OpRule } from '../graph/ops/rule.ts';
import { operatorRules } from '../graph/ops/rules.ts';

const kinds: Readonly<Record<OpRule['kind'], string>> = {
  contraction: 'Operators that multiply and sum',
  pointwise: 'Operators whose parts need like parts',
  structural: 'Operators that only move data',
};

const introduction = `# Operators

What a part of each operator's output needs, along which axes. This file is written by \`npm run docs:operators\` from the
tables in \`graph/ops\`; do not edit it.

Models of any opset are first lifted to opset 17, so there is one rule per operator (\`BatchNormalization\` is mostly
folded, \`Split\` becomes slices, \`Upsample\` becomes \`Resize\`, \`Gelu\`, \`Mish\`, \`GroupNormalization\`,
\`RMSNormalization\`, \`Attention\` and \`RotaryEmbedding\` are taken apart, dilated \`AveragePool\` and \`LpPool\` become
convolutions, antialiased \`Resize\` products with its matrices). Functions of the model's own are inlined before, and sparse
tensors made dense. What opset 17 cannot say is refused with node and reason: 8-bit floats and 4-bit integers, scales of blocks,
\`Attention\` that keeps keys, and operators younger than that (\`BitwiseAnd\`, \`Col2Im\`, \`DeformConv\`, ...).

**Channels** are axis 1 of maps [N, C, H, W] and the last axis of token matrices, **rows** the spatial axes.
Axis 0 is the batch wherever a graph keeps one, and is not divided there. What a part needs and its device does not own is exchanged.
`;

/** Operators with the same rule share a row. */
function table(kind: OpRule['kind']): string {
  const families = new Map<OpRule, string[]>();
  for (const [name, rule] of operatorRules) {
    if (rule.kind === kind) families.set(rule, [...(families.get(rule) ?? []), name]);
  }
  const rows = [...families]
    .map(([{ doc }, names]) => ({ doc, names: names.sort().join(', ') }))
    .sort((a, b) => (a.names < b.names ? -1 : 1))
    .map(({ doc, names }) => `| ${names} | ${doc.channels} | ${doc.rows} | ${doc.others ?? ''} |`);
  return [
    `## ${kinds[kind]}`,
    '',
    '| operator | a part by channels needs | by rows | along other axes |',
    '|---|---|---|---|',
    ...rows,
    '',
  ].join('\n');
}

function replicated(): string {
  const rows = [...replicatedOperators]
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .map(([name, reason]) => `| ${name} | ${reason} |`);
  return [
    '## Operators that are computed whole',
    '',
    'Their inputs are gathered, and every device that needs the result computes it. Any operator that is listed nowhere here is',
    'treated so too, as are operators of other domains; so are those above along axes marked "no".',
    '',
    '| operator | why |',
    '|---|---|',
    ...rows,
    '',
  ].join('\n');
}

export function operatorDocs(): string {
  return [introduction, table('contraction'), table('pointwise'), table('structural'), replicated()].join(
    '\n',
  );
}
