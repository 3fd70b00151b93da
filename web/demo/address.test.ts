import { describe, expect, it } from 'vitest';
import { privateRoom, readAddress, roomAddress, taskAddress } from './address.ts';

describe('the address', () => {
  it('leads to the lobby and the demo plan where it says nothing', () => {
    expect(readAddress('http://localhost:8080/')).toEqual({
      room: 'lobby',
      secret: null,
      plan: ['http://localhost:8080/models/esrgan-slim-x4/plan.json'],
      backend: 'auto',
      devices: 'best',
      memoryLimitBytes: null,
      threads: null,
      task: 'upscale',
    });
  });

  it('says which task is shown first, and of the usual one nothing', () => {
    const href = taskAddress('http://localhost:8080/?room=a#secret=b', 'classify');
    expect(href).toBe('http://localhost:8080/?room=a&task=classify#secret=b');
    expect(readAddress(href).task).toBe('classify');
    expect(taskAddress(href, 'upscale')).toBe('http://localhost:8080/?room=a#secret=b');
    expect(readAddress('http://localhost:8080/?task=other').task).toBe('upscale');
  });

  it('names several plans, the devices that are used and a limit of memory', () => {
    expect(
      readAddress('http://localhost:8080/?plan=a.json&plan=/b.json&devices=all&memory=64'),
    ).toMatchObject({
      plan: ['http://localhost:8080/a.json', 'http://localhost:8080/b.json'],
      devices: 'all',
      memoryLimitBytes: 64 * 2 ** 20,
    });
  });

  it('keeps the secret in the fragment, which no server sees', () => {
    const href = roomAddress('http://localhost:8080/?threads=1', 'calm-hill-123', 'a b&c');
    expect(new URL(href).search).toBe('?threads=1&room=calm-hill-123');
    expect(readAddress(href)).toMatchObject({ room: 'calm-hill-123', secret: 'a b&c', threads: 1 });
    expect(readAddress(roomAddress(href, 'lobby', null)).secret).toBeNull();
  });

  it('makes rooms with secrets out of chance', () => {
    const made = privateRoom((bytes) => bytes.fill(17));
    expect(made).toEqual({ room: 'wide-hill-777', secret: '11'.repeat(16) });
  });
});
