/** The real models that every division is verified on, with inputs of the size and range they are made for. */
import { loadModel } from '../../graph/load.ts';
import { saveModel } from '../../graph/save.ts';
import type { Backend } from '../../runtime/backend.ts';
import { withLivelyWeights } from '../support/livelyWeights.ts';
import { resnet50Model } from '../support/resnet50.ts';
import { readSharedModel } from '../support/shared.ts';

export interface VerifyModel {
  readonly name: string;
  /** Concrete shapes of inputs that the file leaves open. */
  readonly shapes: Readonly<Record<string, readonly number[]>>;
  /** Uniform inputs between these; standard normal without. */
  readonly inputRange?: readonly [low: number, high: number];
  readonly samples: number;
  /** Whether one run takes a second or more here. */
  readonly heavy: boolean;
  /** Whether strips need rows of their neighbours. */
  readonly halos: boolean;
  /** The ONNX file. Needs the shared models. */
  bytes(createBackend: () => Promise<Backend>): Promise<Uint8Array>;
}

type Settings = Partial<Omit<VerifyModel, 'name'>>;

function shared(name: string, settings: Settings = {}): VerifyModel {
  return {
    name,
    shapes: {},
    samples: 2,
    heavy: false,
    halos: true,
    bytes: () => Promise.resolve(readSharedModel(`${name}.onnx`)),
    ...settings,
  };
}

function lively(name: string): VerifyModel['bytes'] {
  return () =>
    Promise.resolve(saveModel(withLivelyWeights(loadModel(readSharedModel(`${name}.onnx`)))).bytes);
}

export const verifyModels: readonly VerifyModel[] = [
  shared('resnet20-cifar10'),
  shared('resnet32-cifar10'),
  shared('resnet56-cifar10'),
  shared('mobilenet-v1-0.25-imagenet', { inputRange: [-1, 1] }),
  shared('espcn-x3', { shapes: { input: [1, 1, 24, 20] }, inputRange: [0, 1] }),
  shared('esrgan-slim-x4', { shapes: { input: [1, 3, 24, 20] }, inputRange: [0, 1] }),
  shared('esrgan-thick-x4', {
    shapes: { input: [1, 3, 16, 14] },
    inputRange: [0, 1],
    samples: 1,
    heavy: true,
  }),
  shared('ultraface-rfb-320', { inputRange: [-1, 1] }),
  shared('yolox-nano-coco', { inputRange: [0, 255] }),
  shared('espnet-camvid', { inputRange: [-0.0062, 0.0085], samples: 1, heavy: true }),
  shared('deeplabv3-mnv2-portrait', { inputRange: [-1, 1], samples: 1, heavy: true }),
  shared('deit-tiny-random-weights', {
    samples: 1,
    heavy: true,
    // Patches do not overlap, and attention wants all tokens.
    halos: false,
    bytes: lively('deit-tiny-random-weights'),
  }),
  {
    name: 'resnet50',
    shapes: {},
    samples: 1,
    heavy: true,
    halos: true,
    bytes: async (createBackend) => saveModel(await resnet50Model(createBackend)).bytes,
  },
];
