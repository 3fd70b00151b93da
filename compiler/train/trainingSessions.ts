/** The sessions of a training: one step with gradients, the forward pass, the loss alone, and the teacher. */
import type { Graph } from '../../graph/graph.ts';
import type { Tensor } from '../../graph/tensor.ts';
import { StarlingError } from '../../protocol/errors.ts';
import { type WireInputs, withFakeQuantisation } from './fakeQuantisation.ts';
import { appendLoss } from './losses.ts';
import { objectiveTerms } from './objective.ts';
import { weightNames } from './parameters.ts';
import { createRunner, type GraphOutputs, type GraphRunner } from './runGraph.ts';
import type { TrainerOptions } from './trainerTypes.ts';
import { type StepGraph, stepGraph, weightsAsInputs, withMoments, withRanges } from './trainingGraph.ts';

type Feeds = ReadonlyMap<string, Tensor>;

export interface TrainingSessions {
  readonly input: string;
  readonly output: string;
  readonly step: StepGraph;
  /** Inputs that the loss adds. */
  readonly targets: ReadonlySet<string>;
  /** Initializers of batch normalisation that follow the batches. */
  readonly runningNames: readonly string[];
  /** Value -> inputs that say how it is rounded; empty where it is not. */
  readonly wires: ReadonlyMap<string, WireInputs>;
  /** Value -> output of runMoments with its features' mean squares. */
  readonly moments: ReadonlyMap<string, string>;
  /** Value -> outputs of runRanges with its features' extremes. */
  readonly low: ReadonlyMap<string, string>;
  readonly high: ReadonlyMap<string, string>;
  runStep(feeds: Feeds): Promise<GraphOutputs>;
  runMoments(feeds: Feeds): Promise<GraphOutputs>;
  /** Nothing is rounded. */
  runRanges(feeds: Feeds): Promise<GraphOutputs>;
  /** As the exchange travels, or with nothing rounded. */
  readonly rounded: Evaluator;
  readonly exact: Evaluator;
  teach(input: Tensor): Promise<Tensor>;
  release(): Promise<void>;
}

export interface Evaluator {
  runForward(feeds: Feeds): Promise<GraphOutputs>;
  /** `lossName` is its output. */
  runLoss(feeds: Feeds): Promise<GraphOutputs>;
  readonly lossName: string;
}

/** Throws MODEL_UNSUPPORTED. Sessions that are seldom needed are made when they are. */
export async function createSessions(options: TrainerOptions): Promise<TrainingSessions> {
  const { backend, graph: plain, teacher, exchanges = [], wire = 'float32' } = options;
  const [input, output] = [onlyName(plain.inputs, 'input'), onlyName(plain.outputs, 'output')];
  const { graph, wires } = withFakeQuantisation(plain, wire === 'uint8' ? exchanges : []);
  const terms = objectiveTerms(options.objective, output);
  const step = stepGraph(graph, terms, weightNames(graph));
  const runningNames = graph.nodes.flatMap(({ opType, inputs }) =>
    opType === 'BatchNormalization' ? inputs.slice(3) : [],
  );
  const variable = [...weightNames(graph), ...runningNames];
  const weighed = withMoments(graph, exchanges);
  const measured = withRanges(plain, exchanges);
  const runners: GraphRunner[] = [];
  const open = (of: Graph) => {
    let runner: Promise<GraphRunner> | undefined;
    return async (feeds: Feeds): Promise<GraphOutputs> => {
      runner ??= createRunner(backend, of).then((made) => {
        runners.push(made);
        return made;
      });
      return (await runner).run(feeds);
    };
  };
  const evaluator = (of: Graph): Evaluator => {
    const lossy = appendLoss(of, terms);
    return {
      runForward: open(weightsAsInputs(of, variable)),
      runLoss: open(weightsAsInputs(lossy.graph, variable)),
      lossName: lossy.loss,
    };
  };
  const rounded = evaluator(graph);
  const runTeacher = teacher === undefined ? undefined : open(teacher);
  return {
    input,
    output,
    step,
    targets: new Set(terms.map(({ target }) => target)),
    runningNames,
    wires,
    moments: weighed.moments,
    low: measured.low,
    high: measured.high,
    runStep: open(step.graph),
    runMoments: open(weightsAsInputs(weighed.graph, variable)),
    runRanges: open(weightsAsInputs(measured.graph, variable)),
    rounded,
    exact: wires.size === 0 ? rounded : evaluator(plain),
    async teach(samples) {
      if (teacher === undefined || runTeacher === undefined) {
        throw new StarlingError('INPUT_INVALID', 'The loss takes a teacher, and there is none.');
      }
      const outputs = await runTeacher(new Map([[onlyName(teacher.inputs, 'input'), samples]]));
      return outputs.get(onlyName(teacher.outputs, 'output'));
    },
    async release() {
      for (const runner of runners.splice(0)) await runner.release();
    },
  };
}

function onlyName(list: Graph['inputs'], what: string): string {
  const [first] = list;
  if (first !== undefined && list.length === 1) return first.name;
  throw new StarlingError(
    'MODEL_UNSUPPORTED',
    `Training expects a model of one ${what}, this one has ${list.length}.`,
  );
}
