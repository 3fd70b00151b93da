/** Load to look at: so many runs under way at any time, of the same random inputs, until it is stopped. */
import { StarlingError } from '../../../protocol/errors.ts';
import { Overloaded } from '../../scaler/overloaded.ts';
import type { Session } from '../../session.ts';
import { randomTensor } from '../randomTensor.ts';

export interface RunStream {
  /** Runs that are under way from now on. */
  setCount(count: number): void;
  stop(): void;
}

/** `onError` is told of the first error that is no refusal; the stream has stopped then. */
export function startRunStream(
  session: Session,
  count: number,
  onError: (thrown: unknown) => void,
): RunStream {
  const feeds = Object.fromEntries(session.inputs.map((value) => [value.name, randomTensor(value)]));
  const controller = new AbortController();
  let [wanted, underWay] = [count, 0];

  const one = async () => {
    underWay++;
    try {
      while (!controller.signal.aborted && underWay <= wanted) {
        await session.run(feeds, { signal: controller.signal }).catch(waitIfOverloaded);
      }
    } catch (thrown) {
      if (!controller.signal.aborted) {
        controller.abort();
        onError(StarlingError.from(thrown, 'RUN_FAILED'));
      }
    } finally {
      underWay--;
    }
  };
  const fill = () => {
    for (let missing = wanted - underWay; missing > 0; missing--) void one();
  };
  fill();
  return {
    setCount(next) {
      wanted = next;
      fill();
    },
    stop: () => controller.abort(),
  };
}

async function waitIfOverloaded(thrown: unknown): Promise<void> {
  if (!(thrown instanceof Overloaded)) throw thrown;
  await new Promise((resolve) => setTimeout(resolve, Math.min(5_000, thrown.expectedWaitMs ?? 100)));
}
