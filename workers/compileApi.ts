/**
 * What a page may ask of the Worker that compiles a model; both ends of the comlink boundary import these types.
 * The Worker is ended afterwards, which gives its memory back, and to call a compilation off.
 */
import type { ValueInfo } from '../graph/graph.ts';
import type { WasmBase } from '../protocol/backendInfo.ts';
import type { CompileStep, DivisionAxis, PixelOptions } from '../protocol/compileChoices.ts';

/** A model before it is compiled: open lengths are names or null, and so are whole shapes that its file leaves out. */
export interface ModelSignature {
  readonly bytes: number;
  readonly inputs: readonly ValueInfo[];
  readonly outputs: readonly ValueInfo[];
}

/** Those of compileModel's options that cross the boundary. */
export interface CompileWishes {
  readonly name: string;
  readonly numShards: number;
  readonly axis: DivisionAxis;
  /** Turns pictures into 8-bit inputs and outputs. */
  readonly pixels?: PixelOptions;
  /** Shapes of inputs that the model leaves open. */
  readonly shapes?: Readonly<Record<string, readonly number[]>>;
}

export interface CompileApi {
  /**
   * Reads the model, and of the data files, by name or path, those that it keeps weights in. Rejects MODEL_UNREADABLE,
   * DATA_FILE_MISSING, MODEL_UNSUPPORTED or GRAPH_INVALID.
   */
  open(file: Blob, dataFiles: ReadonlyMap<string, Blob>): Promise<ModelSignature>;
  /** Compiles what is open: the plan's files by name. Rejects as compileModel does. */
  compile(
    wishes: CompileWishes,
    wasmBase: WasmBase,
    onStep: (step: CompileStep) => void,
  ): Promise<ReadonlyMap<string, Uint8Array>>;
}
