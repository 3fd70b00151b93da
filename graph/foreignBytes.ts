/**
 * Recognises files that people take for models by mistake (web pages, text, archives), to say what they are.
 * Protobuf has no signature, so what is not recognised here may still not be ONNX.
 */

const signatures: readonly (readonly [bytes: readonly number[], what: string])[] = [
  [
    [0x50, 0x4b, 3, 4],
    'it is a zip archive (a PyTorch checkpoint or a saved folder); export it to ONNX first',
  ],
  [[0x1f, 0x8b], 'it is gzip-compressed; decompress it first'],
  [[0x89, 0x48, 0x44, 0x46], 'it is an HDF5 file (Keras weights); convert it to ONNX first'],
  [[0x89, 0x50, 0x4e, 0x47], 'it is a PNG picture'],
  [[0xff, 0xd8, 0xff], 'it is a JPEG picture'],
  [[0x47, 0x47, 0x55, 0x46], 'it is a GGUF file; Starling reads ONNX'],
];

/** One clause on what the bytes are, or undefined where they may be an ONNX model. */
export function describeForeignBytes(bytes: Uint8Array): string | undefined {
  if (bytes.byteLength === 0) return 'it is empty';
  for (const [signature, what] of signatures)
    if (signature.every((byte, i) => bytes[i] === byte)) return what;
  if (bytes[4] === 0x54 && bytes[5] === 0x46 && bytes[6] === 0x4c && bytes[7] === 0x33) {
    return 'it is a TensorFlow Lite model; convert it to ONNX first';
  }
  const start = new TextDecoder('latin1').decode(bytes.subarray(0, 256));
  if (start.startsWith('version https://git-lfs')) {
    return 'it is a Git LFS pointer, not the model it stands for; fetch it with "git lfs pull"';
  }
  if (/^\s*<(!doctype|html|\?xml|head|body|!--)/i.test(start))
    return 'it is a web page, so its address may be wrong';
  if (/^\s*[[{]\s*["\]}[{]/.test(start)) return 'it is JSON text';
  // A model's first bytes hold small field tags; a long run of printable characters is prose or code.
  if (/^[\t\n\r\x20-\x7e]{24}/.test(start) || (bytes.byteLength < 24 && /^[\t\n\r\x20-\x7e]+$/.test(start)))
    return 'it is text';
  return undefined;
}
