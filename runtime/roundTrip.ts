/** The round trip to a peer, from the times of pings and their answers. At most one ping is on its way. */
export class RoundTrip {
  #sequence = 0;
  #sentAt: number | null = null;
  #smoothedMs: number | null = null;
  #minMs: number | null = null;

  get smoothedMs(): number | null {
    return this.#smoothedMs;
  }

  get minMs(): number | null {
    return this.#minMs;
  }

  /** The sequence number of the ping to send now, or null while the last one is unanswered. */
  start(now: number): number | null {
    if (this.#sentAt !== null) return null;
    this.#sequence = (this.#sequence + 1) >>> 0;
    this.#sentAt = now;
    return this.#sequence;
  }

  /** False for an answer to no ping of ours. */
  finish(sequence: number, now: number): boolean {
    if (this.#sentAt === null || sequence !== this.#sequence) return false;
    const sample = now - this.#sentAt;
    this.#sentAt = null;
    // Weight 1/8, as TCP does (RFC 6298).
    this.#smoothedMs =
      this.#smoothedMs === null ? sample : this.#smoothedMs + (sample - this.#smoothedMs) / 8;
    this.#minMs = Math.min(this.#minMs ?? sample, sample);
    return true;
  }
}
