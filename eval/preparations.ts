/** How pictures of any size become a network's input, by name: fitted to its height and width, then put in its range. */
import { coverImage } from './bilinear.ts';
import { type NormalisationName, normalisations } from './normalisations.ts';
import { type Normalisation, planesOf } from './pixels.ts';
import type { RgbImage } from './rgbImage.ts';
import { letterbox } from './yolox.ts';

/** 3 x height x width. */
export type Prepare = (image: RgbImage, height: number, width: number) => Float32Array;

export type PreparationName = NormalisationName | 'yolox';

/** The picture covers the input; what is too much is cut off evenly on both sides. */
export function covering(normalisation: Normalisation): Prepare {
  return (image, height, width) => planesOf(coverImage(image, width, height), normalisation);
}

export const preparations: { readonly [Name in PreparationName]: Prepare } = {
  unit: covering(normalisations.unit),
  symmetric: covering(normalisations.symmetric),
  imagenet: covering(normalisations.imagenet),
  espnet: covering(normalisations.espnet),
  /** Square, the whole picture, blue first, 0 to 255. */
  yolox: (image, height) => letterbox(image, height).planes,
};

export const preparationNames = Object.keys(preparations) as PreparationName[];
