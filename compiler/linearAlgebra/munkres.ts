/** The one file that knows the assignment library (Munkres' algorithm). */
import { munkres } from 'munkres';

/** The column of each row in the assignment of least total cost; a square matrix. */
export function assignRows(costs: readonly (readonly number[])[]): number[] {
  const columns = new Array<number>(costs.length).fill(-1);
  for (const [row, column] of munkres(costs.map((row) => [...row]))) columns[row] = column;
  return columns;
}
