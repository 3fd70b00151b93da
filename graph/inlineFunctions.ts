/**
 * Functions that a model brings along (ModelProto.functions; PyTorch's newer exporter and onnxscript write them): every call
 * becomes the nodes of the function's body, as section "Functions" of ONNX's IR.md says. No call is left, and no function.
 */
import { StarlingError } from '../protocol/errors.ts';
import { limits } from '../protocol/limits.ts';
import { isKnownOperator, meansTheSame } from './ops/lift/liftRules.ts';
import { normalDomain } from './opsets.ts';
import {
  type AttributeProto,
  type FunctionProto,
  fromInt64,
  type GraphProto,
  type ModelProto,
  type NodeProto,
  onnx,
  toInt64,
} from './proto.ts';
import { definedNames, renamedNode } from './renameProto.ts';

type Opsets = ReadonlyMap<string, number>;

/** Throws MODEL_UNSUPPORTED naming the function: it calls itself, is too large, or is written for other operator sets. */
export function inlineFunctions(model: ModelProto): ModelProto {
  if (model.functions.length === 0) return model;
  const inliner = new Inliner(model);
  const graph = inliner.graph(onnx.GraphProto.create(model.graph ?? {}), []);
  const opsetImport = [...inliner.opsets()].map(([domain, version]) => ({
    domain,
    version: toInt64(version),
  }));
  return onnx.ModelProto.create({ ...model, graph, opsetImport, functions: [] });
}

function opsetsOf(imports: FunctionProto['opsetImport']): Map<string, number> {
  return new Map(imports.map((entry) => [normalDomain(entry.domain ?? ''), fromInt64(entry.version)]));
}

/** A function is known by its domain, its name, and its overload. */
function keyOf(domain: string, name: string, overload = ''): string {
  return JSON.stringify([normalDomain(domain), name, overload]);
}

class Inliner {
  readonly #functions: ReadonlyMap<string, FunctionProto>;
  readonly #opsets: Map<string, number>;
  /** Names of values, so that those of a body can be given others. */
  readonly #taken: Set<string>;
  /** How often a name was taken already: a function that is called a thousand times must not try a thousand names each time. */
  readonly #clashes = new Map<string, number>();
  readonly #domains = new Set<string>();
  #inlined = 0;

  constructor(model: ModelProto) {
    const functions = model.functions.map((entry): FunctionProto => onnx.FunctionProto.create(entry));
    this.#functions = new Map(
      functions.map((called) => [keyOf(called.domain, called.name, called.overload), called]),
    );
    this.#opsets = opsetsOf(model.opsetImport);
    this.#taken = definedNames(onnx.GraphProto.create(model.graph ?? {}));
  }

  /** What the model imports now: without the domains that were there for functions only. */
  opsets(): Opsets {
    const called = new Set([...this.#functions.values()].map(({ domain }) => normalDomain(domain)));
    const kept = ([domain]: [string, number]) => !called.has(domain) || this.#domains.has(domain);
    return new Map([...this.#opsets].filter(kept));
  }

  /** `open`: the functions around, the innermost last. */
  graph(graph: GraphProto, open: readonly FunctionProto[]): GraphProto {
    const node = graph.node.flatMap((entry) => this.#node(onnx.NodeProto.create(entry), open));
    return onnx.GraphProto.create({ ...graph, node });
  }

  #node(node: NodeProto, open: readonly FunctionProto[]): readonly NodeProto[] {
    const called = this.#called(node);
    const around = open.at(-1);
    if (around !== undefined && ++this.#inlined > limits.inlinedNodes) {
      throw unsupported(around, `and others make more than ${limits.inlinedNodes} nodes`);
    }
    if (called === undefined) {
      this.#useOpset(node, around);
      return [this.#withSubgraphs(node, open)];
    }
    if (open.includes(called)) throw unsupported(called, 'calls itself');
    return this.#body(node, called).flatMap((inner) => this.#node(inner, [...open, called]));
  }

  /** A runtime takes its own operators before functions of the same name. */
  #called({ domain, opType, overload }: NodeProto): FunctionProto | undefined {
    if (normalDomain(domain) === '' && isKnownOperator(opType)) return undefined;
    return this.#functions.get(keyOf(domain, opType, overload));
  }

  #withSubgraphs(node: NodeProto, open: readonly FunctionProto[]): NodeProto {
    if (!node.attribute.some((entry) => entry.g != null)) return node;
    const attribute = node.attribute.map((entry) =>
      entry.g == null ? entry : { ...entry, g: this.graph(onnx.GraphProto.create(entry.g), open) },
    );
    return onnx.NodeProto.create({ ...node, attribute });
  }

  /** A node of a body has to mean in the model's opsets what it means in those of its function. */
  #useOpset(node: NodeProto, around: FunctionProto | undefined): void {
    const domain = normalDomain(node.domain);
    this.#domains.add(domain);
    const wanted = around && opsetsOf(around.opsetImport).get(domain);
    if (wanted === undefined) return;
    const given = this.#opsets.get(domain) ?? wanted;
    this.#opsets.set(domain, given);
    if (given === wanted || (domain === '' && meansTheSame(node.opType, given, wanted))) return;
    throw unsupported(
      around,
      `holds ${node.opType} of opset ${wanted}${domain === '' ? '' : ` of "${domain}"`}, which in the model's own opset ${given} is another operator`,
    );
  }

  #body(call: NodeProto, called: FunctionProto): readonly NodeProto[] {
    if (call.input.length > called.input.length || call.output.length > called.output.length) {
      throw unsupported(called, `is called with more inputs or outputs than it has, by node "${call.name}"`);
    }
    const prefix = call.name === '' ? call.opType : call.name;
    const names = new Map<string, string>([['', '']]);
    for (const [i, input] of called.input.entries()) names.set(input, call.input[i] ?? '');
    const passedOn: NodeProto[] = [];
    for (const [i, output] of called.output.entries()) {
      const outside = call.output[i] ?? '';
      if (outside === '') continue;
      const inside = names.get(output);
      if (inside === undefined) names.set(output, outside);
      else passedOn.push(onnx.NodeProto.create({ opType: 'Identity', input: [inside], output: [outside] }));
    }
    const rename = (name: string): string => {
      const outside = names.get(name) ?? this.#fresh(`${prefix}/${name}`);
      names.set(name, outside);
      return outside;
    };
    const given = attributesOf(call, called);
    const nodes = called.node.map((entry) => {
      const node = renamedNode(onnx.NodeProto.create(entry), rename);
      node.name = `${prefix}/${node.name === '' ? node.opType : node.name}`;
      return withGiven(node, given);
    });
    return [...nodes, ...passedOn];
  }

  #fresh(hint: string): string {
    let name = hint;
    for (let i = this.#clashes.get(hint) ?? 1; this.#taken.has(name); i++) {
      name = `${hint}_${i}`;
      this.#clashes.set(hint, i + 1);
    }
    this.#taken.add(name);
    return name;
  }
}

type Attributes = ReadonlyMap<string, AttributeProto>;

/** What a call says, and the defaults of what it does not say. */
function attributesOf(call: NodeProto, { attributeProto = [] }: FunctionProto): Attributes {
  const all = [...attributeProto, ...call.attribute].map((entry) => onnx.AttributeProto.create(entry));
  return new Map(all.map((attribute) => [attribute.name, attribute]));
}

/** References become the attributes they refer to, in subgraphs too; one to what nobody gave is left out. */
function withGiven(node: NodeProto, given: Attributes): NodeProto {
  const attribute = node.attribute.flatMap((entry) => {
    const own = onnx.AttributeProto.create(entry);
    if (own.refAttrName !== '') {
      const value = given.get(own.refAttrName);
      return value === undefined ? [] : [onnx.AttributeProto.create({ ...value, name: own.name })];
    }
    if (own.g == null) return [own];
    const inner = onnx.GraphProto.create(own.g);
    const nodes = inner.node.map((each) => withGiven(onnx.NodeProto.create(each), given));
    return [onnx.AttributeProto.create({ ...own, g: { ...inner, node: nodes } })];
  });
  return onnx.NodeProto.create({ ...node, attribute });
}

function unsupported(called: FunctionProto | undefined, problem: string): StarlingError {
  return new StarlingError(
    'MODEL_UNSUPPORTED',
    `The model's function "${called?.name ?? ''}" ${problem}: inline the functions when exporting.`,
  );
}
