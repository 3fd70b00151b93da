/** The versions of ONNX's own operator set that Starling reads, and the one everything is lifted to. */

export const oldestOpset = 6;
export const newestOpset = 26;
/** The one opset that normalised graphs, and so all operator rules, know. */
export const workingOpset = 17;

/** ONNX's own domain has two spellings. */
export function normalDomain(domain: string): string {
  return domain === 'ai.onnx' ? '' : domain;
}
