/** The compiled part of the device: one small file, compiled once, with a memory per use. */
import { Missing, SfumatoError } from "./errors.ts";

/** What the compiled file offers; addresses are signed numbers of 32 bits, 0 where memory is refused. */
export interface NativeExports {
  readonly memory: WebAssembly.Memory;
  sift_open(width: number, height: number): number;
  sift_detect(isGray: number): number;
  sift_keypoints(): number;
  sift_rows(count: number): number;
  sift_describe(rows: number, count: number): number;
  sift_frames(count: number): number;
  sift_describe_frames(frames: number, count: number): number;
  words_open(words: number, centres: number): number;
  words_index(words: number): number;
  words_queries(count: number): number;
  words_nearest(count: number): number;
}

/** Reads a file of Node; a page has no such thing. */
interface NodeFiles {
  readonly readFileSync: (file: URL) => Uint8Array<ArrayBuffer>;
}
interface NodeProcess {
  readonly process?: { getBuiltinModule?: (name: string) => unknown };
}

/** A function that adds two vectors: the smallest file that needs SIMD. */
const NEEDS_SIMD = new Uint8Array([
  0, 97, 115, 109, 1, 0, 0, 0, 1, 5, 1, 96, 0, 1, 123, 3, 2, 1, 0, 10, 10, 1, 8, 0, 65, 0, 253, 15, 253, 98, 11,
]);

/**
 * Compile the device's WebAssembly, to be shared by `Sift` and `WordSearch`, also with workers.
 *
 * `file` is where device.wasm lies, if not beside this code; it is fetched from there and from
 * nowhere else. A page with a content security policy allows 'wasm-unsafe-eval' in script-src.
 */
export async function loadNative(file?: URL | string): Promise<WebAssembly.Module> {
  if (typeof WebAssembly !== "object") {
    throw new Missing("sfumato needs WebAssembly, this browser has none; update it.");
  }
  if (!WebAssembly.validate(NEEDS_SIMD)) {
    throw new Missing(
      "sfumato needs WebAssembly with SIMD, this browser has none; use Chrome 91, Firefox 89, Safari 16.4 or newer.",
    );
  }
  const bytes = await readBytes(file ?? new URL("../wasm/device.wasm", import.meta.url));
  try {
    return await WebAssembly.compile(bytes);
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    throw new Missing(
      "device.wasm could not be compiled: it must be the file of this version, and the page must allow " +
        `'wasm-unsafe-eval' in script-src (${reason}).`,
    );
  }
}

async function readBytes(place: URL | string): Promise<ArrayBuffer | Uint8Array<ArrayBuffer>> {
  const file = typeof place === "string" && place.startsWith("file:") ? new URL(place) : place;
  const files = (globalThis as NodeProcess).process?.getBuiltinModule?.("node:fs") as NodeFiles | undefined;
  if (files !== undefined && file instanceof URL && file.protocol === "file:") return files.readFileSync(file);
  let answer: Response;
  try {
    answer = await fetch(file);
  } catch {
    throw new Missing("device.wasm could not be fetched; check the network, and that the page serves the file.");
  }
  if (!answer.ok) {
    throw new Missing(`device.wasm could not be fetched, the server answered ${answer.status}; serve it with the page.`);
  }
  return answer.arrayBuffer();
}

/** One use of the compiled code with a memory of its own. */
export class Native {
  readonly run: NativeExports;

  constructor(module: WebAssembly.Module) {
    this.run = new WebAssembly.Instance(module).exports as unknown as NativeExports;
  }

  /** `length` bytes at an address that a call gave; look anew after each call, memory may have moved. */
  bytes(address: number, length: number): Uint8Array<ArrayBuffer> {
    return new Uint8Array(this.run.memory.buffer, found(address), length);
  }

  floats(address: number, length: number): Float32Array<ArrayBuffer> {
    return new Float32Array(this.run.memory.buffer, found(address), length);
  }

  numbers(address: number, length: number): Uint32Array<ArrayBuffer> {
    return new Uint32Array(this.run.memory.buffer, found(address), length);
  }

  /** Bytes of memory in use; it never shrinks. */
  get size(): number {
    return this.run.memory.buffer.byteLength;
  }
}

function found(address: number): number {
  if (address === 0) {
    throw new SfumatoError("the browser gives no more memory to this page; close other tabs and try again.");
  }
  return address >>> 0;
}
