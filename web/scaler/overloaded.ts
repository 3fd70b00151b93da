/** The error of a run that the queue does not take; it tells when trying again may help. */
import { StarlingError } from '../../protocol/errors.ts';

export class Overloaded extends StarlingError {
  /** Until what waits now is served, at the pace of the last seconds; null while nothing was served yet. */
  readonly expectedWaitMs: number | null;

  constructor(
    waiting: number,
    capacity: number,
    expectedWaitMs: number | null,
    refusal: StarlingError | null = null,
  ) {
    const wait =
      expectedWaitMs === null
        ? 'how long that takes is not known yet'
        : `serving them takes about ${Math.max(1, Math.round(expectedWaitMs))} ms`;
    const why = refusal === null ? '' : ` There are no more instances because: ${refusal.message}`;
    super(
      'OVERLOADED',
      `Expected room for one more run, but ${waiting} of ${capacity} already wait and ${wait}; send fewer, or try again then.${why}`,
    );
    this.expectedWaitMs = expectedWaitMs;
  }
}
