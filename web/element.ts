/**
 * `<starling-session plan room signaling secret backend devices>`: a room and its plan as an element; of several
 * addresses in `plan`, with spaces between, the best for the room is taken. Joins while it is in the
 * document, and again when its Worker has died; tells what happens as events, runs with `run`. Importing this file registers the element.
 *
 * Events bubble out of shadow roots; their `detail` is in StarlingSessionEvents. The status text can be styled as
 * `starling-session::part(status)`; the states are also attributes: `starling-session[state="ready"]`.
 */
import { StarlingError } from '../protocol/errors.ts';
import { systemClock } from './clock.ts';
import type { DeviceView } from './deviceView.ts';
import { joinRoom } from './joinRoom.ts';
import type { Room } from './room.ts';
import type { RunOptions, RunReport, Session } from './session.ts';
import type { OutputTensor, TensorLike } from './tensors.ts';
import { WorkerRestarts } from './workerRestarts.ts';

export type SessionState = 'idle' | 'joining' | 'loading' | 'ready' | 'failed';

export interface StarlingSessionEvents {
  readonly 'starling-status': {
    readonly state: SessionState;
    /** One sentence for people. */
    readonly message: string;
    readonly devices: readonly DeviceView[];
  };
  /** Of loading the plan over all devices, 0 to 1. */
  readonly 'starling-progress': { readonly progress: number };
  readonly 'starling-result': {
    readonly outputs: Readonly<Record<string, OutputTensor>>;
    readonly report: RunReport | null;
  };
  readonly 'starling-error': { readonly error: StarlingError };
}

/** One membership of a room, from joining to leaving. */
interface Attempt {
  readonly ended: AbortController;
  readonly session: Promise<Session>;
  room: Room | null;
}

export class StarlingSessionElement extends HTMLElement {
  static readonly observedAttributes = ['plan', 'room', 'signaling', 'secret', 'backend', 'devices'];

  readonly #status: HTMLElement;
  #attempt: Attempt | null = null;
  #state: SessionState = 'idle';
  #message = '';
  #restarting = false;
  readonly #workerRestarts = new WorkerRestarts(systemClock);

  constructor() {
    super();
    const root = this.attachShadow({ mode: 'open' });
    const style = document.createElement('style');
    style.textContent = ':host { display: block } :host([hidden]) { display: none }';
    this.#status = document.createElement('div');
    this.#status.setAttribute('part', 'status');
    this.#status.setAttribute('role', 'status');
    root.append(style, this.#status, document.createElement('slot'));
  }

  connectedCallback(): void {
    window.addEventListener('pageshow', this.#onPageShow);
    this.#restart();
  }

  disconnectedCallback(): void {
    window.removeEventListener('pageshow', this.#onPageShow);
    this.#restarting = false;
    this.#stop();
    this.#show('idle', '');
  }

  attributeChangedCallback(): void {
    this.#restart();
  }

  get state(): SessionState {
    return this.#state;
  }

  /** Every device of the room, this one included. */
  get devices(): readonly DeviceView[] {
    return this.#attempt?.room?.devices ?? [];
  }

  /**
   * The loaded plan; rejects when joining or loading fails, and when the element leaves the document before.
   */
  get session(): Promise<Session> {
    this.#restartNow();
    return (
      this.#attempt?.session ??
      Promise.reject(
        new StarlingError(
          'RUN_FAILED',
          'The element is not in a document, or lacks its plan or room attribute.',
        ),
      )
    );
  }

  /** Waits for the plan to be loaded, then runs it. Rejects as Session.run does. */
  async run(
    feeds: Readonly<Record<string, TensorLike>>,
    options: RunOptions = {},
  ): Promise<Record<string, OutputTensor>> {
    let report: RunReport | null = null;
    try {
      const session = await this.session;
      const outputs = await session.run(feeds, {
        ...options,
        onReport: (one) => {
          report = one;
          options.onReport?.(one);
        },
      });
      this.#emit('starling-result', { outputs, report });
      return outputs;
    } catch (thrown) {
      const error = StarlingError.from(thrown, 'RUN_FAILED');
      this.#emit('starling-error', { error });
      throw error;
    }
  }

  /** Attributes that are set one after the other lead to one new membership. */
  #restart(): void {
    if (this.#restarting) return;
    this.#restarting = true;
    queueMicrotask(() => this.#restartNow());
  }

  #restartNow(): void {
    if (!this.#restarting) return;
    this.#restarting = false;
    this.#stop();
    const [plan, room] = [this.getAttribute('plan'), this.getAttribute('room')];
    if (this.isConnected && plan !== null && room !== null) this.#start(plan, room);
  }

  #start(plan: string, room: string): void {
    const ended = new AbortController();
    const attempt: Attempt = { ended, room: null, session: this.#join(plan, room, ended.signal) };
    this.#attempt = attempt;
    attempt.session.catch((thrown: unknown) => {
      if (this.#attempt !== attempt) return;
      const error = StarlingError.from(thrown, 'INTERNAL');
      this.#show('failed', `${error.message} (${error.code})`);
      this.#emit('starling-error', { error });
    });
  }

  async #join(plan: string, name: string, signal: AbortSignal): Promise<Session> {
    this.#show('joining', `Joining the room ${name}.`);
    const backend = this.getAttribute('backend');
    const devices = this.getAttribute('devices');
    const room = await joinRoom({
      signaling: this.getAttribute('signaling') ?? document.baseURI,
      room: name,
      secret: this.getAttribute('secret') ?? undefined,
      backend: backend === 'wasm' || backend === 'webgpu' ? backend : 'auto',
      devices: devices === 'all' || devices === 'own' ? devices : 'best',
      signal,
    });
    if (signal.aborted || this.#attempt === null) {
      await room.leave();
      throw signal.reason;
    }
    this.#attempt.room = room;
    room.on('devices', () => this.#show(this.#state, this.#message));
    room.on('left', ({ reason }) => {
      if (signal.aborted) return;
      this.#show('failed', `${reason.message} (${reason.code})`);
      this.#emit('starling-error', { error: reason });
      if (this.#workerRestarts.allow(reason)) this.#restart();
    });
    this.#show('loading', 'Loading the plan.');
    const onProgress = (progress: number) => this.#emit('starling-progress', { progress });
    const session = await room.load(plan.trim().split(/\s+/), { signal, onProgress });
    this.#show('ready', 'Ready.');
    return session;
  }

  #stop(): void {
    const attempt = this.#attempt;
    this.#attempt = null;
    attempt?.ended.abort(new StarlingError('RUN_ABORTED', 'The element left its room.'));
    void attempt?.room?.leave();
  }

  readonly #onPageShow = (event: PageTransitionEvent): void => {
    if (event.persisted) this.#restart();
  };

  #show(state: SessionState, message: string): void {
    this.#state = state;
    this.#message = message;
    if (this.getAttribute('state') !== state) this.setAttribute('state', state);
    const { devices } = this;
    const count = devices.filter(({ shards }) => shards.length > 0).length;
    const text =
      state === 'ready' && count > 0 ? `Ready on ${count} ${count === 1 ? 'device' : 'devices'}.` : message;
    if (this.#status.textContent !== text) this.#status.textContent = text;
    this.#emit('starling-status', { state, message: text, devices });
  }

  #emit<Type extends keyof StarlingSessionEvents>(type: Type, detail: StarlingSessionEvents[Type]): void {
    this.dispatchEvent(new CustomEvent(type, { detail, bubbles: true, composed: true }));
  }
}

declare global {
  interface HTMLElementTagNameMap {
    'starling-session': StarlingSessionElement;
  }
}

if (customElements.get('starling-session') === undefined) {
  customElements.define('starling-session', StarlingSessionElement);
}
