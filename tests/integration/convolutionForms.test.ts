/**
 * Convolutions, pools and resizing in every form that files hold: all forms of one opset lie side by side in one graph, behind a
 * convolution each, which is divided over three devices and compared with onnxruntime on the whole.
 */
import { beforeAll, describe, expect, test } from 'vitest';
import { createHeapBackend } from '../../backends/ortHeap.ts';
import type { DivisionAxis } from '../../compiler/compile.ts';
import type { Graph, Node } from '../../graph/graph.ts';
import { randomTensor, seededRandom } from '../../graph/random.ts';
import { float32Tensor, type Tensor } from '../../graph/tensor.ts';
import type { Backend } from '../../runtime/backend.ts';
import { type Form, formTables } from '../support/convolutionForms.ts';
import { answers, modelBytes, unnamed } from '../support/dividedAnswer.ts';
import { random } from '../support/operatorCase.ts';
import { tensorDifference } from '../support/tensorDifference.ts';

const inputs: Readonly<Record<string, readonly number[]>> = {
  x1: [1, 3, 20],
  x2: [1, 3, 12, 10],
  x3: [1, 3, 6, 5, 7],
};

/** A graph grown form by form. */
class FormsWriter {
  readonly nodes: Node[] = [];
  readonly outputs: Graph['outputs'][number][] = [];
  readonly initializers = new Map<string, Tensor>();

  constant(tensor: Tensor): string {
    const name = `c${this.initializers.size}`;
    this.initializers.set(name, tensor);
    return name;
  }

  add(
    { op, attributes = {}, weight, bias, spatial = 2, perChannel, operands: given }: Form,
    index: number,
  ): void {
    const before = `before${index}`;
    const first = this.constant(random([8, 3, ...Array<number>(spatial).fill(1)]));
    this.nodes.push(unnamed('Conv', [`x${spatial}`, first], [before]));
    const output = `${op} ${index}`;
    const channels = weight?.[op === 'ConvTranspose' ? 1 : 0] ?? 0;
    const operands = (given ?? []).map((tensor) => (tensor === null ? '' : this.constant(tensor)));
    if (weight !== undefined) operands.push(this.constant(random(weight)));
    const length = op === 'ConvTranspose' ? channels * Number(attributes['group']?.value ?? 1) : channels;
    if (bias === true && !op.startsWith('Q')) operands.push(this.constant(random([length])));
    if (op !== 'QLinearConv' && op !== 'ConvInteger') {
      this.nodes.push(unnamed(op, [before, ...operands], [output], attributes));
      this.outputs.push({ name: output, dataType: 'float32' });
      return;
    }
    const scale = (value: number) => this.constant(float32Tensor([], [value]));
    const zero = () => this.constant({ dataType: 'uint8', dims: [], data: Uint8Array.of(120) });
    const [own, point] = [scale(0.05), zero()];
    this.nodes.push(unnamed('QuantizeLinear', [before, own, point], [`${before}q`]));
    const filter = this.constant(random(weight ?? [], 'uint8'));
    const filterZero = this.constant({ dataType: 'uint8', dims: [], data: Uint8Array.of(100) });
    if (op === 'ConvInteger') {
      this.nodes.push(unnamed(op, [`${before}q`, filter, point, filterZero], [output], attributes));
      this.outputs.push({ name: output, dataType: 'int32' });
      return;
    }
    // Scales of single output channels go with signed weights around zero.
    const each = perChannel === true;
    const scales = each
      ? this.constant(
          float32Tensor(
            [channels],
            Array.from({ length: channels }, (_, i) => 0.01 + i / 500),
          ),
        )
      : scale(0.02);
    const signed = each ? this.constant(random(weight ?? [], 'int8')) : filter;
    const zeros = each
      ? this.constant({ dataType: 'int8', dims: [channels], data: new Uint8Array(channels) })
      : filterZero;
    const added =
      bias === true
        ? [this.constant({ dataType: 'int32', dims: [channels], data: new Uint8Array(4 * channels) })]
        : [];
    const [outScale, outZero] = [scale(1.5), zero()];
    const all = [`${before}q`, own, point, signed, scales, zeros, outScale, outZero, ...added];
    this.nodes.push(unnamed(op, all, [output], attributes));
    this.outputs.push({ name: output, dataType: 'uint8' });
  }

  graph(): Graph {
    const read = new Set(this.nodes.flatMap((node) => node.inputs));
    return {
      name: 'forms',
      inputs: Object.entries(inputs).flatMap(([name, shape]) =>
        read.has(name) ? [{ name, dataType: 'float32', shape }] : [],
      ),
      outputs: this.outputs,
      nodes: this.nodes,
      initializers: this.initializers,
      values: new Map(),
    };
  }
}

const axes: readonly DivisionAxis[] = ['channels', 'rows'];

describe.each(axes)('by %s', (axis) => {
  let backend: Backend;
  beforeAll(async () => {
    backend = await createHeapBackend();
  });

  test.each(
    [6, 7, 9, 10, 11, 17, 22].flatMap((opset) =>
      Object.entries(formTables).map(([name, forms]) => [opset, name, forms] as const),
    ),
  )('opset %d: %s', async (opset, _, forms) => {
    const writer = new FormsWriter();
    for (const [index, form] of forms.entries())
      if (opset >= (form.from ?? 1) && opset < (form.below ?? 99)) writer.add(form, index);
    const graph = writer.graph();
    if (graph.nodes.length === 0) return;
    const feeds = Object.fromEntries(
      graph.inputs.map(({ name }, i) => [
        name,
        randomTensor('float32', inputs[name] ?? [], seededRandom(i + 1)),
      ]),
    );
    const { expected, outputs, plan } = await answers(backend, modelBytes(graph, opset), feeds, {
      numShards: 3,
      axis,
    });
    const wrong = Object.entries(expected).flatMap(([name, tensor]) => {
      const difference = tensorDifference(tensor, outputs[name]);
      const form = forms[Number(name.split(' ')[1])];
      return difference === undefined ? [] : [`${JSON.stringify(form)}: ${difference}`];
    });
    expect(wrong).toEqual([]);
    // Most forms are divided, and the work with them.
    const { macs, macsPerShard } = plan.file.report;
    expect(Math.max(0, ...macsPerShard)).toBeLessThanOrEqual(0.6 * macs);
    expect(Object.keys(outputs)).toHaveLength(graph.outputs.length);
  });
});
