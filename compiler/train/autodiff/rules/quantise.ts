/**
 * Rounding has no gradient of use: what comes back goes straight through (Bengio et al. 2013). Both halves of a rounding
 * pass on the gradient of the real number, whatever type the value between them has.
 */
import type { GradientRule } from '../gradientRule.ts';

export const straightThrough: GradientRule = (_context, dy) => [() => dy, null, null];
