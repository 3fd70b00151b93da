/** Calls into a Worker that may die: then every call, pending and later, rejects with WORKER_DIED. Not what is called. */
import { StarlingError } from '../../protocol/errors.ts';
import { unpackResult, type WireResult } from '../../protocol/wireError.ts';

export interface WorkerCalls {
  /** Declares the Worker dead. */
  die(why: string): void;
  call<T>(send: () => Promise<WireResult<T>>): Promise<T>;
  /** Ends the Worker; pending calls reject with this. */
  end(error: StarlingError): void;
}

/** `role` completes "The Worker that ... has died"; `onDeath` is told unless it was ended by `end`. */
export function watchWorker(
  worker: Worker,
  role: string,
  onDeath: (error: StarlingError) => void = () => undefined,
): WorkerCalls {
  let death: StarlingError | null = null;
  const pending = new Set<(error: StarlingError) => void>();

  const end = (error: StarlingError) => {
    if (death !== null) return;
    death = error;
    worker.terminate();
    for (const reject of pending) reject(error);
    pending.clear();
  };
  const fail = (message: string) => {
    if (death !== null) return;
    const error = new StarlingError('WORKER_DIED', message);
    end(error);
    onDeath(error);
  };
  worker.onerror = (event) => {
    // Without a message the script itself could not be loaded.
    fail(
      event.message
        ? `The Worker that ${role} has died (${event.message}).`
        : `The script of the Worker that ${role} could not be loaded; reload the page.`,
    );
  };
  worker.onmessageerror = () => {
    fail(`A message of the Worker that ${role} could not be read.`);
  };
  return {
    end,
    die: (why) => fail(`The Worker that ${role} has died (${why}).`),
    call(send) {
      if (death !== null) return Promise.reject(death);
      return new Promise((resolve, reject) => {
        pending.add(reject);
        send()
          .then((result) => resolve(unpackResult(result)))
          .catch(reject)
          .finally(() => pending.delete(reject));
      });
    },
  };
}
