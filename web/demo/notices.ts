/** What this page cannot do where it was opened, why, and how to get it. */
import { createElement } from './createElement.ts';

export interface Surroundings {
  readonly secure: boolean;
  readonly isolated: boolean;
  readonly webgpu: boolean;
}

/** Sentences, commands in backquotes; none where nothing is missing. */
export function missing({ secure, isolated, webgpu }: Surroundings): string[] {
  if (!secure) {
    return [
      'This page came over plain http, so it computes on one thread, without WebGPU, and cannot keep the screen on. Start the server with `npm start -- --https` and open the https address to get all three.',
    ];
  }
  const sentences: string[] = [];
  if (!isolated) {
    sentences.push(
      'This page is not cross-origin isolated, so it computes on one thread. Its server has to send the COOP and COEP headers, as `npm start` does.',
    );
  }
  if (!webgpu) sentences.push('This browser offers no WebGPU; the network runs on WebAssembly.');
  return sentences;
}

export function showNotices(root: HTMLElement, surroundings: Surroundings, backendReason: string): void {
  const sentences = [...missing(surroundings), `This device computes with ${backendReason}`];
  root.replaceChildren(...sentences.map((sentence) => createElement('p', {}, ...withCommands(sentence))));
}

/** Every second piece between backquotes is a command. */
function withCommands(sentence: string): (string | HTMLElement)[] {
  return sentence.split('`').map((text, i) => (i % 2 === 0 ? text : createElement('code', {}, text)));
}
