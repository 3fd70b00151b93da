import { expect, test } from 'vitest';
import { trainingChart } from './trainingChart.ts';

test('a training shows its loss, its figures and its settled levels, each where there is one', () => {
  const lines = [
    { type: 'train', step: 20, loss: 2, keptFeatures: 1 },
    { type: 'train', step: 40, loss: 1, keptFeatures: 0.5 },
    { type: 'evaluation', step: 40, loss: 1.5 },
  ] as const;
  const svg = trainingChart(lines, [{ keptFeatures: 0.5, loss: 1.4 }]);
  expect(svg).toContain('>Kept ratio<');
  expect(svg).toContain('>Loss of the settled levels<');
  expect(svg).not.toContain('Top-1');
});
