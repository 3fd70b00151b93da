/** How the models of each task want their pictures, by name. */
import { type Normalisation, symmetricRange, unitRange } from './pixels.ts';

export const normalisations = {
  /** 0 to 1. */
  unit: unitRange,
  /** -1 to 1, as MobileNet. */
  symmetric: symmetricRange,
  /** Less ImageNet's mean, over its deviation: most ResNets and vision transformers. */
  imagenet: { order: 'rgb', mean: [123.675, 116.28, 103.53], std: [58.395, 57.12, 57.375] },
  /** ESPNet on CamVid: less the training pictures' mean, over their deviation, and that over 255 once more. */
  espnet: {
    order: 'bgr',
    mean: [110.3313, 108.4091, 105.0335],
    std: [72.1252 * 255, 72.6885 * 255, 69.9026 * 255],
  },
} as const satisfies Record<string, Normalisation>;

export type NormalisationName = keyof typeof normalisations;
