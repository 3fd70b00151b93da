/** A random case of every operator that has a gradient; one that is missing does not compile. */
import type { DifferentiableOperator } from '../../../compiler/train/autodiff/rules/rules.ts';
import { elementwiseCases } from './elementwiseCases.ts';
import type { MakeCase } from './randomValues.ts';
import { structuralCases } from './structuralCases.ts';
import { summingCases } from './summingCases.ts';
import { windowCases } from './windowCases.ts';

export const gradientCases: { readonly [Op in DifferentiableOperator]: MakeCase } = {
  ...elementwiseCases,
  ...structuralCases,
  ...summingCases,
  ...windowCases,
};
