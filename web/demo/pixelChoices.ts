/** Which 8-bit ends the signature of a model allows, and what a person's choice of them is to the compiler. Pure. */
import type { ValueInfo } from '../../graph/graph.ts';
import type { PixelOptions, PixelOutput } from '../../protocol/compileChoices.ts';
import type { ModelSignature } from '../../workers/compileApi.ts';
import { type NormalisationName, normalisations } from '../tensorImages.ts';

/** `none`: numbers as the model has them. */
export type PixelInputChoice = 'none' | NormalisationName;
export type PixelOutputChoice = keyof typeof outputs;

export interface Choice<Value extends string> {
  readonly value: Value;
  readonly label: string;
}

export interface PixelChoices {
  /** Name of the end that would become pixels, and what may be chosen; null where it is no picture. */
  readonly input: { readonly name: string; readonly choices: readonly Choice<PixelInputChoice>[] } | null;
  readonly output: { readonly name: string; readonly choices: readonly Choice<PixelOutputChoice>[] } | null;
}

const outputs = {
  none: { label: 'Numbers, as the model gives them', options: null },
  unit: { label: '8-bit pixels, from 0 to 1', options: { scale: 255 } },
  pixels: { label: '8-bit pixels, from 0 to 255', options: { scale: 1 } },
  classes: { label: 'The greatest class of each pixel', options: { classes: true } },
} as const satisfies Readonly<Record<string, { label: string; options: PixelOutput | null }>>;

export function pixelChoices({
  inputs,
  outputs: ends,
}: Pick<ModelSignature, 'inputs' | 'outputs'>): PixelChoices {
  const [input, output] = [firstMap(inputs), firstMap(ends)];
  const channels = input?.shape?.[1];
  return {
    input:
      input === undefined || (typeof channels === 'number' && channels !== 1 && channels !== 3)
        ? null
        : { name: input.name, choices: inputChoices(channels) },
    output: output === undefined ? null : { name: output.name, choices: outputChoices(output.shape?.[1]) },
  };
}

/** Undefined where both ends stay as they are. */
export function pixelOptions(input: PixelInputChoice, output: PixelOutputChoice): PixelOptions | undefined {
  const given = outputs[output].options;
  if (input === 'none' && given === null) return undefined;
  return {
    ...(input === 'none' ? {} : { input: inputOptions(input) }),
    ...(given === null ? {} : { output: given }),
  };
}

/** What the compiler takes for the picture: the first float32 end of four axes. */
function firstMap(values: readonly ValueInfo[]): ValueInfo | undefined {
  return values.find(({ dataType, shape }) => dataType === 'float32' && shape?.length === 4);
}

/** Three means make sense for three channels only. */
function inputChoices(channels: number | string | null | undefined): Choice<PixelInputChoice>[] {
  const names = (Object.keys(normalisations) as NormalisationName[]).filter(
    (name) => channels === 3 || isGrey(name),
  );
  return [
    { value: 'none', label: 'Numbers, prepared on this page' },
    ...names.map((value) => ({
      value,
      label: `8-bit pixels, to ${normalisations[value].label} on the devices`,
    })),
  ];
}

function outputChoices(channels: number | string | null | undefined): Choice<PixelOutputChoice>[] {
  const picture = typeof channels !== 'number' || channels === 1 || channels === 3;
  const fits: { readonly [Name in PixelOutputChoice]: boolean } = {
    none: true,
    unit: picture,
    pixels: picture,
    classes: typeof channels !== 'number' || channels > 1,
  };
  return (Object.keys(outputs) as PixelOutputChoice[])
    .filter((value) => fits[value])
    .map((value) => ({ value, label: outputs[value].label }));
}

function isGrey(name: NormalisationName): boolean {
  const { mean, std } = normalisations[name];
  return new Set(mean).size === 1 && new Set(std).size === 1;
}

function inputOptions(name: NormalisationName): NonNullable<PixelOptions['input']> {
  const { scale, mean, std } = normalisations[name];
  if (!isGrey(name)) return { scale, mean, std };
  // One number for all channels, however many there are; nothing where it changes nothing.
  const [offset, deviation] = [mean[0], std[0]];
  return {
    scale,
    ...(offset === 0 ? {} : { mean: [offset] }),
    ...(deviation === 1 ? {} : { std: [deviation] }),
  };
}
