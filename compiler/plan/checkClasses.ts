/** Whether names of classes can be those of a graph's scores. */
import type { Graph } from '../../graph/graph.ts';
import { StarlingError } from '../../protocol/errors.ts';

/** Throws INPUT_INVALID where the first output is a list of scores of another length; of maps nothing is known. */
export function checkClasses({ outputs }: Graph, classes: readonly string[]): void {
  const [scores] = outputs;
  const shape = scores?.shape ?? [];
  const length = shape.at(-1);
  if (shape.length > 2 || typeof length !== 'number' || length === classes.length) return;
  throw new StarlingError(
    'INPUT_INVALID',
    `Output "${scores?.name}" has ${length} scores, but there are ${classes.length} names of classes; give one name for each score, in their order.`,
  );
}
