/** `starling inspect`: prints a plan. */
import { join } from 'node:path';
import { parsePlan } from '../../protocol/plan.ts';
import { type Command, parseArguments } from '../command.ts';
import { readBytes } from '../files.ts';
import { planText } from '../planText.ts';

export const inspect: Command = {
  name: 'inspect',
  summary: 'Print a plan.',
  usage: 'DIR [--json]',
  async run(args, terminal) {
    const { values, positionals } = parseArguments(args, { json: { type: 'boolean' } }, ['DIR']);
    const bytes = await readBytes(join(positionals[0] ?? '', 'plan.json'), 'PLAN_NOT_FOUND');
    const plan = parsePlan(new TextDecoder().decode(bytes));
    terminal.print(values.json === true ? JSON.stringify(plan, null, 2) : planText(plan));
    return 0;
  },
};
