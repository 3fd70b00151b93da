/**
 * Types of the attributes of ONNX's own operators by attribute name, for verify.ts. A name is listed only
 * where every operator and version agrees, or with every type some version gives it.
 */
import type { Attribute } from './graph.ts';

type Type = Attribute['type'];

const namesByType: Readonly<Partial<Record<Type, readonly string[]>>> = {
  int: [
    'allowzero',
    'axis',
    'batch_axis',
    'batch_dims',
    'blocksize',
    'ceil_mode',
    'count_include_pad',
    'detect_negative',
    'detect_positive',
    'exclusive',
    'exclude_outside',
    'fmod',
    'group',
    'hidden_size',
    'keepdims',
    'largest',
    'noop_with_empty_axes',
    'num_groups',
    'num_outputs',
    'num_scan_inputs',
    'select_last_index',
    'sorted',
    'storage_order',
    'time_axis',
    'to',
    'training_mode',
    'transA',
    'transB',
    'upper',
  ],
  float: [
    'alpha',
    'beta',
    'cubic_coeff_a',
    'epsilon',
    'extrapolation_value',
    'gamma',
    'lambd',
    'max',
    'min',
    'momentum',
    'ratio',
  ],
  string: [
    'auto_pad',
    'coordinate_transformation_mode',
    'direction',
    'equation',
    'interpolation_mode',
    'mode',
    'nearest_mode',
    'padding_mode',
    'reduction',
  ],
  ints: [
    'axes',
    'dilations',
    'kernel_shape',
    'output_padding',
    'output_shape',
    'pads',
    'perm',
    'split',
    'starts',
    'ends',
    'strides',
  ],
  floats: ['scales', 'value_floats'],
  graph: ['body', 'then_branch', 'else_branch'],
};

const table = new Map<string, Type[]>();
for (const [type, names] of Object.entries(namesByType))
  for (const name of names) table.set(name, [type as Type]);

export const attributeTypes: ReadonlyMap<string, readonly Type[]> = table
  .set('value', ['tensor', 'float'])
  .set('value_int', ['int'])
  .set('value_float', ['float'])
  .set('value_string', ['string'])
  .set('value_ints', ['ints'])
  .set('value_strings', ['strings']);
