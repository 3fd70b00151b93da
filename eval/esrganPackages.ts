/** The npm packages (MIT) that hold ESRGAN models for TF.js, pinned by hash. */
import type { NpmPackage } from './npmPackage.ts';

/** Small: RDN with one dense block; the demo's model. `models/x2`, `x3`, `x4`, `x8`. */
export const esrganSlim: NpmPackage = {
  name: '@upscalerjs/esrgan-slim',
  version: '1.0.0',
  integrity:
    'sha512-DXtwn5SE71+pZKluN/hGeLaZv6ZylyFQYSvMqU08kKCEA5Y9Q1cIIk4EvPTPZw8VqGi2C6F02c8OjhtId4BK2w==',
};

/** Three dense blocks. */
export const esrganMedium: NpmPackage = {
  name: '@upscalerjs/esrgan-medium',
  version: '1.0.0',
  integrity:
    'sha512-Z8JnR87sgetPABKevasXST3FdnXhaoTu9zpXnu3KLaHYpYStVt0FD1VZS9c6jhSGMBC0H929gN9RbWl+MeisKA==',
};
