/** One line of progress on a terminal, with the time that is left; silent where nobody watches. */
import type { TextStream } from './command.ts';

export interface Progress {
  /** `done` of `total` units; the same line is written over. */
  update(done: number, total: number, note?: string): void;
  /** Wipes the line. Calling it again does nothing. */
  end(): void;
}

interface ProgressOptions {
  readonly label: string;
  readonly stream: TextStream;
  /** Milliseconds; any origin. */
  readonly now?: () => number;
}

/** Milliseconds between two writes; a line that flickers is not readable. */
const redrawMs = 100;

export function createProgress({ label, stream, now = () => performance.now() }: ProgressOptions): Progress {
  let start = now();
  let before = 0;
  let drawn = Number.NEGATIVE_INFINITY;
  let visible = false;
  return {
    update(done, total, note = '') {
      if (!stream.isTTY) return;
      const time = now();
      // What begins again is a step of its own, whose pace the last one does not tell.
      if (done < before) start = time;
      before = done;
      if (time - drawn < redrawMs && done < total) return;
      drawn = time;
      visible = true;
      const percent = total > 0 ? Math.floor((100 * done) / total) : 0;
      const left =
        done > 0 && done < total ? `, ${formatDuration(((time - start) * (total - done)) / done)} left` : '';
      const line = `${label} ${percent} % (${done}/${total}${left})${note === '' ? '' : ` ${note}`}`;
      stream.write(`\r\x1b[K${line.slice(0, Math.max(20, (stream.columns ?? 80) - 1))}`);
    },
    end() {
      if (visible) stream.write('\r\x1b[K');
      visible = false;
    },
  };
}

/** `42 s`, `3 min 5 s`, `2 h 10 min`. */
export function formatDuration(milliseconds: number): string {
  const seconds = Math.max(0, Math.round(milliseconds / 1000));
  if (seconds < 60) return `${seconds} s`;
  const minutes = Math.floor(seconds / 60);
  if (minutes < 60) return `${minutes} min ${seconds % 60} s`;
  return `${Math.floor(minutes / 60)} h ${minutes % 60} min`;
}
