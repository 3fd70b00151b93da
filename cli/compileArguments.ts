/** The options of `starling compile`: how they are parsed, and what each of them means. Parses no value. */
import { preparationNames } from '../eval/preparations.ts';
import type { OptionHelp } from './command.ts';
import { exchangeArguments } from './exchangeOptions.ts';
import { pixelArguments } from './pixelOption.ts';

/** For parseArguments. */
export const compileArguments = {
  shards: { type: 'string' },
  division: { type: 'string' },
  out: { type: 'string' },
  axis: { type: 'string', default: 'channels' },
  backend: { type: 'string', default: 'auto' },
  shape: { type: 'string', multiple: true, default: [] as string[] },
  name: { type: 'string' },
  link: { type: 'string' },
  devices: { type: 'string' },
  memory: { type: 'string' },
  classes: { type: 'string' },
  ...exchangeArguments,
  ...pixelArguments,
} as const;

export const compileHelp: OptionHelp<keyof typeof compileArguments> = {
  shards: ['N', 'parts of every layer; devices hold one or more of them'],
  out: ['DIR', 'folder that the plan is written to'],
  axis: [
    'channels|rows|auto|layers',
    'how layers are divided (channels); auto: whatever is predicted to be fastest',
  ],
  shape: ['NAME=1x3x224x224', 'shape of an input with open dimensions; once for each such input'],
  name: ['NAME', "the plan's name (the model's file name)"],
  classes: ['cat,dog,...|FILE', 'names of what the scores of the first output stand for'],
  link: ['20mbit,3ms', 'rate and round trip between devices, for predictions'],
  devices: ['1,0.5', 'speeds of the devices, for predictions'],
  memory: ['64MB', 'what the heap of a device may grow to'],
  pixels: ['in|out|both|classes', '8-bit pictures in, and out as pixels or as the best class of each place'],
  'pixel-scale': ['255', 'what a pixel is divided by'],
  'pixel-mean': ['0.485,0.456,0.406', 'what is then subtracted, for each channel'],
  'pixel-std': ['0.229,0.224,0.225', 'what that is divided by, for each channel'],
  calibrate: [
    'FOLDER|FOLDER:1/2|FILE.npy|cifar10',
    'inputs without labels, which thinning and uint8 scales are fitted to',
  ],
  normalise: [preparationNames.join('|'), 'how pictures of the folder become inputs'],
  labels: ['FILE.npy', 'labels of the calibration inputs, for the accuracy of those held out'],
  keep: ['0.2', 'thins the exchange: part of its bytes that is sent'],
  sweep: ['0,0.1,0.2,1', 'a plan for each of these kept ratios, with a table and a chart'],
  bytes: ['B', 'thins the exchange to so many bytes in a run'],
  rounds: ['M', 'thins the exchange to so many waits for other devices'],
  within: ['40ms', 'thins the exchange until it takes so long on --link'],
  sparsity: ['0.75', "part of the model's multiplications that is saved"],
  capacity: ['3,1', 'which part of the channels each shard owns'],
  wire: ['float32|float16|uint8', 'what features travel as (float32)'],
  'wire-scale': ['feature|tensor', 'whether each feature or each value has a uint8 range (feature)'],
  latency: ['', 'looks for the fastest plan on --link, exact or not'],
  loss: ['0.02', 'how many answers --latency may change'],
  division: ['FILE', "a training's division.json, in place of --shards and --axis"],
  backend: ['auto|native|wasm', 'the onnxruntime that calibrates (auto)'],
};
