import { defineConfig } from 'vitest/config';

export default defineConfig({
  test: {
    include: ['**/*.test.ts'],
    exclude: ['node_modules/**', 'dist/**', 'tests/e2e/**'],
    testTimeout: 60_000,
    hookTimeout: 60_000,
    // Two cores: more workers only take turns.
    maxWorkers: 2,
  },
});
