import { describe, expect, it } from 'vitest';
import { createProgress, formatDuration } from './progress.ts';

function fixture(isTTY: boolean) {
  const written: string[] = [];
  let time = 0;
  const progress = createProgress({
    label: 'compile',
    stream: { isTTY, columns: 60, write: (text: string | Uint8Array) => written.push(String(text)) > 0 },
    now: () => time,
  });
  return { written, progress, wait: (ms: number) => (time += ms) };
}

describe('createProgress', () => {
  it('shows the part that is done and the time that is left', () => {
    const { written, progress, wait } = fixture(true);
    wait(30_000);
    progress.update(1, 4, 'conv_1');
    expect(written).toEqual(['\r\x1b[Kcompile 25 % (1/4, 1 min 30 s left) conv_1']);
    progress.end();
    progress.end();
    expect(written.slice(1)).toEqual(['\r\x1b[K']);
  });

  it('does not redraw faster than one can read, but always draws the end', () => {
    const { written, progress, wait } = fixture(true);
    progress.update(1, 9);
    wait(10);
    progress.update(2, 9);
    progress.update(9, 9);
    expect(written).toHaveLength(2);
    expect(written[1]).toContain('100 % (9/9)');
  });

  it('never breaks the line, and is silent where nobody watches', () => {
    const watched = fixture(true);
    watched.progress.update(1, 2, 'x'.repeat(200));
    expect(watched.written[0]?.length).toBe('\r\x1b[K'.length + 59);
    const unwatched = fixture(false);
    unwatched.progress.update(1, 2);
    unwatched.progress.end();
    expect(unwatched.written).toEqual([]);
  });

  it('writes durations as people say them', () => {
    expect([900, 59_400, 185_000, 7_800_000].map(formatDuration)).toEqual([
      '1 s',
      '59 s',
      '3 min 5 s',
      '2 h 10 min',
    ]);
  });
});
