/** `starling lower`: writes one device's program as an ONNX model whose extra inputs and outputs are its exchanges. */
import { saveModel } from '../../graph/save.ts';
import type { Tensor } from '../../graph/tensor.ts';
import { byteCount } from '../../graph/tensor.ts';
import { StarlingError } from '../../protocol/errors.ts';
import { lower as lowerPlan } from '../../runtime/lower/lower.ts';
import type { Program } from '../../runtime/lower/program.ts';
import { programGraph } from '../../runtime/stageModel.ts';
import { buildBlob, type WeightBlob } from '../../runtime/weights/blob.ts';
import { type Command, parseArguments, required } from '../command.ts';
import { writeBytes } from '../files.ts';
import { numberOf } from '../numberOption.ts';
import { parsePlacement } from '../placement.ts';
import { openPlanFolder, readWeights } from '../planFolder.ts';

function weightTensors(program: Program, blob: WeightBlob): [string, Tensor][] {
  return [...program.weights].map(([name, { dataType, dims }]) => {
    const offset = blob.offsets.get(name) ?? 0;
    return [name, { dataType, dims, data: blob.data.subarray(offset, offset + byteCount(dataType, dims)) }];
  });
}

export const lower: Command = {
  name: 'lower',
  summary: "Write one device's part of a plan as an ONNX model.",
  usage: 'DIR --placement 0,1/2,3 --device K --out FILE',
  async run(args, terminal) {
    const { values, positionals } = parseArguments(
      args,
      { placement: { type: 'string' }, device: { type: 'string', default: '0' }, out: { type: 'string' } },
      ['DIR'],
    );
    const [folder = ''] = positionals;
    const placement = parsePlacement(required(values.placement, '--placement'));
    const out = required(values.out, '--out');
    const plan = await openPlanFolder(folder);
    const room = lowerPlan(plan.model.graph, plan.division, placement);
    const device = numberOf('--device', values.device, 0, placement.length - 1, true);
    const program = room.programs[device];
    if (program === undefined) throw new StarlingError('INTERNAL', `Device ${device} has no program.`);
    const blob = buildBlob(program, plan.model, await readWeights(folder, plan, program.shards));
    const graph = programGraph(program, plan.file.maxBatch > 1);
    const initializers = new Map([...graph.initializers, ...weightTensors(program, blob)]);
    await writeBytes(out, saveModel({ ...plan.model, graph: { ...graph, initializers } }).bytes);
    terminal.print(
      `${out}: ${graph.nodes.length} nodes in ${program.stages.length} stages; ${program.sends.length} sends, ${program.receives.length} receives`,
    );
    return 0;
  },
};
