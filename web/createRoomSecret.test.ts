import { expect, it } from 'vitest';
import { createRoomSecret } from './createRoomSecret.ts';

it('a room secret is never the same and long enough', () => {
  const secrets = new Set(Array.from({ length: 50 }, createRoomSecret));
  expect(secrets.size).toBe(50);
  for (const secret of secrets) expect(secret).toMatch(/^[0-9a-f]{32}$/);
});
