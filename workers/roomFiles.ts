/**
 * Files of plans that devices of the room hold instead of a server: what this device gives to others, what it has got
 * from them, and whom it asks for the rest. Everything is known by its hash and checked; the wire is fileTransfer.ts's.
 */
import { StarlingError } from '../protocol/errors.ts';
import { heldPlanAddress } from '../protocol/heldPlan.ts';
import { limits } from '../protocol/limits.ts';
import { parsePlan } from '../protocol/plan.ts';
import { sha256Hex } from '../protocol/sha256.ts';
import type { FetchFileOptions } from '../runtime/fileTransfer.ts';
import { checkHash } from '../runtime/plan.ts';
import type { FileProgress, PlanFiles } from './planFiles.ts';
import { cachedFile, keepFile, type PlanFile } from './weightCache.ts';

export interface RoomFilesOptions {
  /** The devices that can be asked. */
  readonly peers: () => readonly string[];
  /** Null where that device has not got it. */
  readonly fetch: (peer: string, sha256: string, options: FetchFileOptions) => Promise<Uint8Array | null>;
}

interface Wanted extends PlanFile {
  readonly bytes: number;
}

export class RoomFiles {
  readonly #options: RoomFilesOptions;
  /** Of the plan that this page brought into the room. */
  #own: ReadonlyMap<string, Uint8Array> = new Map();
  /** Of the plan of another device, by hash: bytes, or null where they lie in the browser's cache. */
  readonly #borrowed = new Map<string, Uint8Array | null>();
  #borrowedPlan = '';

  constructor(options: RoomFilesOptions) {
    this.#options = options;
  }

  /** Takes the files of plans in place of those before. Throws PLAN_NOT_FOUND, PLAN_UNREADABLE or HASH_MISMATCH. */
  hold(plans: readonly ReadonlyMap<string, Uint8Array>[]): string[] {
    this.#own = new Map();
    const own = new Map<string, Uint8Array>();
    const addresses = plans.map((files) => heldPlanAddress(takeFiles(files, own)));
    this.#own = own;
    return addresses;
  }

  /** What another device may have of this one. */
  async give(sha256: string): Promise<Uint8Array | undefined> {
    const held = this.#own.get(sha256) ?? this.#borrowed.get(sha256);
    if (held !== null) return held;
    const bytes = await cachedFile({ path: sha256, sha256 });
    // Asked for piece by piece, so it stays in memory from the first on.
    if (bytes !== undefined) this.#borrowed.set(sha256, bytes);
    return bytes;
  }

  /** The files of one plan; `from` is asked first. */
  of(planHash: string, from?: string): PlanFiles {
    if (!this.#own.has(planHash) && this.#borrowedPlan !== planHash) {
      this.#borrowed.clear();
      this.#borrowedPlan = planHash;
    }
    const planFile = { path: 'plan.json', sha256: planHash, bytes: limits.planBytes };
    const got = (file: Wanted, onBytes?: FileProgress) => this.#get(file, from, onBytes);
    let graph: Wanted | null = null;
    return {
      read: async (path) => {
        if (path !== 'plan.json' && graph !== null) return got(graph);
        const bytes = await got(planFile);
        graph = parsePlan(new TextDecoder().decode(bytes)).graph;
        return path === 'plan.json' ? bytes : got(graph);
      },
      weights: (file, onBytes) => got({ bytes: limits.modelBytes, ...file }, onBytes),
    };
  }

  /** Makes sure that this device has all of these. Throws PLAN_NOT_FOUND or HASH_MISMATCH. */
  async gather(files: readonly Wanted[]): Promise<void> {
    for (const file of files) await this.#get(file);
  }

  async #get(file: Wanted, from?: string, onBytes?: FileProgress): Promise<Uint8Array> {
    const { sha256 } = file;
    // A file of no bytes says nothing that could be asked for.
    const held = file.bytes === 0 ? new Uint8Array(0) : (this.#own.get(sha256) ?? this.#borrowed.get(sha256));
    const bytes = held ?? (await cachedFile(file));
    if (bytes !== undefined) {
      onBytes?.(bytes.byteLength);
      if (held == null) this.#borrowed.set(sha256, null);
      return bytes;
    }
    const received = await this.#receive(file, from, onBytes);
    const cached = await keepFile({ sha256 }, received);
    this.#borrowed.set(sha256, cached ? null : received);
    return received;
  }

  /** One device after the other, until one of them has it. */
  async #receive(
    { path, sha256, bytes }: Wanted,
    from?: string,
    onBytes?: FileProgress,
  ): Promise<Uint8Array> {
    let changed: StarlingError | null = null;
    let cause: unknown;
    for (const peer of [...this.#options.peers()].sort((a, b) => Number(b === from) - Number(a === from))) {
      try {
        const options = { path, maxBytes: bytes, ...(onBytes === undefined ? {} : { onBytes }) };
        const received = await this.#options.fetch(peer, sha256, options);
        if (received !== null) return received;
      } catch (thrown) {
        cause = thrown;
        if (thrown instanceof StarlingError && thrown.code === 'HASH_MISMATCH') changed = thrown;
      }
    }
    throw (
      changed ??
      new StarlingError(
        'PLAN_NOT_FOUND',
        `No device of the room has file "${path}" of the plan any more; whoever has the model brings it again.`,
        { cause },
      )
    );
  }
}

/** Puts the files of one plan under their hashes, checked; gives the hash of its plan.json. */
function takeFiles(files: ReadonlyMap<string, Uint8Array>, own: Map<string, Uint8Array>): string {
  const read = (path: string): Uint8Array => {
    const bytes = files.get(path);
    if (bytes !== undefined) return bytes;
    throw new StarlingError(
      'PLAN_NOT_FOUND',
      `The plan lacks its file "${path}"; give all that was compiled.`,
    );
  };
  const plan = read('plan.json');
  const { graph, weights } = parsePlan(new TextDecoder().decode(plan));
  const sha256 = sha256Hex(plan);
  own.set(sha256, plan);
  for (const file of [graph, ...weights]) {
    const bytes = read(file.path);
    checkHash(file.path, bytes, file.sha256);
    own.set(file.sha256, bytes);
  }
  return sha256;
}
