/** The demo page: joins the room that its address names, loads the plan, and shows both. Each part is a file of its own. */
/// <reference path="./style.d.ts" />
import './style.css';
import { StarlingError } from '../../protocol/errors.ts';
import { systemClock } from '../clock.ts';
import { joinRoom, type LoadOptions, type Room, type RoomEvent, type Session } from '../index.ts';
import { WorkerRestarts } from '../workerRestarts.ts';
import { privateRoom, readAddress, roomAddress } from './address.ts';
import { byId } from './createElement.ts';
import { createDevicesPanel } from './devicesPanel.ts';
import { createMessages } from './messages.ts';
import { createModelPanel } from './modelPanel.ts';
import { showNotices } from './notices.ts';
import { createRequestsPanel } from './requests/requestsPanel.ts';
import { showRoomPanel } from './roomPanel.ts';
import { createTimelinePanel } from './timelinePanel.ts';
import { createWorkspace } from './workspace.ts';

interface Membership {
  readonly room: Promise<Room>;
  readonly session: Promise<Session>;
}

declare global {
  /** For the console: this page's room and session. */
  var starling: Membership;
}

const address = readAddress(location.href);
const messages = createMessages(byId('messages'));
const devicesPanel = createDevicesPanel(byId('devices'));
const timelinePanel = createTimelinePanel(byId('timeline'));

let current: Membership;
/** The session is of a model that a person brought, which no server has. */
let ownModel = false;
const workerRestarts = new WorkerRestarts(systemClock);
const modelPanel = createModelPanel(byId('model'), {
  messages,
  room: () => current.room,
  onOpen() {
    workspace.reset();
    byId('workspace').hidden = true;
  },
  onSession(session) {
    ownModel = true;
    take({ room: current.room, session });
  },
  onClose(replaced) {
    ownModel = false;
    byId('workspace').hidden = false;
    if (replaced)
      take({ room: current.room, session: current.room.then((joined) => joined.load(address.plan)) });
  },
});
const workspace = createWorkspace(byId('workspace'), {
  messages,
  session: () => current.session,
  claim: (file) => modelPanel.take(file),
});
createRequestsPanel(byId('requests'), {
  load(slo) {
    const session = loadAgain({ slo });
    take({ room: current.room, session });
    return session;
  },
  onError: (thrown) => messages.error(thrown),
});
showRoomPanel(byId('room'), {
  room: address.room,
  link: roomAddress(location.href, address.room, address.secret),
  trust: address.secret === null ? 'server' : 'secret',
  onPrivateRoom() {
    const made = privateRoom((bytes) => crypto.getRandomValues(bytes));
    const next = roomAddress(location.href, made.room, made.secret);
    location.assign(next);
    // A change of the fragment alone would not load the page.
    if (new URL(next).search === location.search) location.reload();
  },
});

const surroundings = {
  secure: globalThis.isSecureContext,
  isolated: globalThis.crossOriginIsolated,
  webgpu: 'gpu' in navigator,
};

function enter(): void {
  const room = joinRoom({
    signaling: new URL('.', location.href),
    room: address.room,
    secret: address.secret ?? undefined,
    backend: address.backend,
    threads: address.threads ?? undefined,
    devices: address.devices,
    memoryLimitBytes: address.memoryLimitBytes ?? undefined,
  });
  take({ room, session: room.then((joined) => joined.load(address.plan)) });
  room.then(showRoom, (thrown: unknown) =>
    showNotices(byId('notices'), surroundings, `nothing: ${StarlingError.from(thrown, 'INTERNAL').message}`),
  );
}

/** What the room runs now, with other wishes. */
async function loadAgain(options: LoadOptions): Promise<Session> {
  const { room, session } = current;
  const { sha256 } = (await session).plan;
  return (await room).load(ownModel ? { sha256 } : address.plan, options);
}

function take(next: Membership): void {
  current = next;
  globalThis.starling = next;
  next.session.catch((thrown: unknown) => {
    // Of a room or a plan that is not the page's any more, enough has been said.
    if (current === next) messages.error(thrown);
  });
}

function showRoom(joined: Room): void {
  showNotices(byId('notices'), surroundings, joined.backend.reason);
  const show = () => {
    const { devices } = joined;
    devicesPanel.show(
      devices,
      devices.reduce((sum, { shards }) => sum + shards.length, 0),
    );
  };
  joined.on('devices', show);
  joined.on('placement', ({ reason }) => devicesPanel.explain(reason));
  joined.on('run', (event) => tellOfRun(event, joined));
  joined.on('signaling', ({ state, message }) => {
    if (state === 'reconnecting') messages.error(new StarlingError('SIGNALING_UNREACHABLE', message));
    else messages.clear('SIGNALING_UNREACHABLE');
  });
  joined.on('left', ({ reason }) => {
    const again = workerRestarts.allow(reason);
    const sentence = again ? `${reason.message} A new one takes its place.` : reason.message;
    messages.error(new StarlingError(reason.code, sentence));
    if (!again) return;
    modelPanel.close();
    enter();
  });
  show();
}

function tellOfRun(event: Extract<RoomEvent, { type: 'run' }>, { devices }: Room): void {
  if (event.phase === 'finished') timelinePanel.show(event.outcome, devices);
  if (event.phase === 'interrupted')
    workspace.tell('A device is gone; the tile starts again on those that are left.');
}

// Out of the browser's back-forward cache: the room was left when the page was hidden.
addEventListener('pageshow', (event) => {
  if (event.persisted) location.reload();
});

enter();
