/** What every backend asks of a tensor before copying it in: numeric elements, and as many bytes as its dims say. */
import { byteCount, type DataType, type Tensor } from '../graph/tensor.ts';
import { StarlingError } from '../protocol/errors.ts';

export type NumericDataType = Exclude<DataType, 'string'>;

/** The element type of an uploadable tensor. Throws StarlingError INPUT_INVALID. */
export function uploadableType(tensor: Tensor): NumericDataType {
  const { dataType, dims, data } = tensor;
  if (dataType === 'string') {
    throw new StarlingError(
      'INPUT_INVALID',
      'Expected a numeric tensor, got strings; encode them as numbers.',
    );
  }
  const expected = byteCount(dataType, dims);
  if (!dims.every((dim) => Number.isInteger(dim) && dim >= 0) || data.byteLength !== expected) {
    throw new StarlingError(
      'INPUT_INVALID',
      `Expected ${expected} bytes for a ${dataType} tensor of [${dims}], got ${data.byteLength}.`,
    );
  }
  return dataType;
}
