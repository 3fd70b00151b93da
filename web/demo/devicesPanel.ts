/** The devices of the room, and as a picture: which shards each of them holds. */
import type { DeviceView } from '../deviceView.ts';
import { createElement } from './createElement.ts';
import { deviceDetails, deviceState, plural } from './sentences.ts';

/** Colours of devices, as many as style.css names; later devices begin again. */
export const deviceColours = 6;

export function createDevicesPanel(root: HTMLElement): {
  show(devices: readonly DeviceView[], numShards: number): void;
  /** Why the shards are where they are; empty where this page does not know. */
  explain(reason: string): void;
} {
  const count = createElement('span', { class: 'count' });
  const whole = createElement('div', { class: 'shards whole' });
  const why = createElement('p', { class: 'details placement', role: 'status' });
  const list = createElement('ul', { class: 'devices' });
  root.append(createElement('h2', { id: 'devices-title' }, 'Devices ', count), whole, why, list);
  return {
    explain(reason) {
      // A status is read out at every change, so none is made of the same words.
      if (why.textContent !== reason) why.textContent = reason;
    },
    show(devices, numShards) {
      count.textContent = devices.length > 1 ? String(devices.length) : '';
      whole.hidden = numShards === 0;
      whole.replaceChildren(...wholeNetwork(devices, numShards));
      whole.setAttribute('role', 'img');
      whole.setAttribute('aria-label', inWords(devices, numShards));
      list.replaceChildren(...devices.map((device, i) => row(device, i, numShards)));
    },
  };
}

/** One box per shard, in the colour of the device that holds it. */
function wholeNetwork(devices: readonly DeviceView[], numShards: number): HTMLElement[] {
  return Array.from({ length: numShards }, (_, shard) => {
    const holder = devices.findIndex(({ shards }) => shards.includes(shard));
    const device = devices[holder];
    return createElement(
      'span',
      {
        class: `shard ${device === undefined ? '' : `held ${device.state}`}`,
        'data-colour': holder % deviceColours,
      },
      String(shard + 1),
    );
  });
}

function row(device: DeviceView, index: number, numShards: number): HTMLElement {
  const { name, self, host, state, shards, progress, reason } = device;
  const bar = createElement('div', { class: 'shards', 'aria-hidden': 'true' });
  for (let shard = 0; shard < numShards; shard++) {
    const held = shards.includes(shard);
    const box = createElement('span', {
      class: `shard ${held ? `held ${state}` : ''}`,
      'data-colour': index % deviceColours,
    });
    if (held && state === 'loading') box.style.setProperty('--loaded', `${Math.round(100 * progress)}%`);
    bar.append(box);
  }
  const details = deviceDetails(device);
  return createElement(
    'li',
    { class: `device ${state}`, 'data-device': device.id, 'data-state': state, 'data-shards': shards.join() },
    createElement('span', { class: 'dot', 'data-colour': index % deviceColours, 'aria-hidden': 'true' }),
    createElement('p', { class: 'name' }, name),
    createElement('p', { class: 'state' }, deviceState(device)),
    createElement(
      'p',
      { class: 'details' },
      self ? createElement('span', { class: 'chip' }, 'this one') : null,
      host
        ? createElement('span', { class: 'chip', title: 'Feeds the picture and collects the result' }, 'host')
        : null,
      details,
    ),
    reason === null ? null : createElement('p', { class: 'details reason' }, reason),
    numShards > 0 && state !== 'failed' ? bar : null,
  );
}

function inWords(devices: readonly DeviceView[], numShards: number): string {
  const holders = devices.filter(({ shards }) => shards.length > 0);
  const parts = holders.map(({ name, shards }) => `${name}: ${shards.map((shard) => shard + 1).join(', ')}`);
  return `The network in ${plural(numShards, 'shard')}. ${parts.join('; ')}.`;
}
