/** Reads a file piece by piece, so that a large one neither fills the memory nor hides its progress. */

import { Unreadable } from "./problem.ts";

const PIECE = 1 << 24;

export type Progress = (done: number) => void;

/** Numbers from a file, one after the other; what is not there is refused in one sentence. */
export class ByteStream {
  readonly name: string;
  readonly size: number;
  readonly #file: Blob;
  readonly #progress: Progress;
  readonly #piece: number;
  #view = new DataView(new ArrayBuffer(0));
  #place = 0;
  #end = 0;

  constructor(file: Blob, name: string, progress: Progress = () => undefined, piece = PIECE) {
    this.#file = file;
    this.name = name;
    this.size = file.size;
    this.#progress = progress;
    this.#piece = piece;
  }

  /** Bytes that were not taken yet. */
  get left(): number {
    return this.size - this.#end + (this.#view.byteLength - this.#place);
  }

  /** Whether so many bytes can be taken without waiting. */
  has(count: number): boolean {
    return this.#place + count <= this.#view.byteLength;
  }

  /** Make so many bytes ready; they must be there. */
  async need(count: number): Promise<void> {
    if (this.has(count)) return;
    if (count > this.left) {
      throw new Unreadable(`${this.name} ends in the middle: it is cut or damaged. Copy it again.`);
    }
    const kept = this.#view.byteLength - this.#place;
    const start = this.#end - kept;
    const end = Math.min(this.size, start + Math.max(count, this.#piece));
    this.#view = new DataView(await this.#file.slice(start, end).arrayBuffer());
    if (this.#view.byteLength !== end - start) throw new Unreadable(`${this.name} changed while it was read; open it again.`);
    [this.#place, this.#end] = [0, end];
    this.#progress(end / Math.max(1, this.size));
  }

  /** The view of the bytes that are ready, and where the next one stands; moved on by `count`. */
  take(count: number): readonly [DataView, number] {
    const place = this.#place;
    this.#place += count;
    return [this.#view, place];
  }

  /** Leave out so many bytes, also more than are ready. */
  skip(count: number): void {
    if (this.has(count)) {
      this.#place += count;
      return;
    }
    if (count > this.left) throw new Unreadable(`${this.name} ends in the middle: it is cut or damaged. Copy it again.`);
    this.#end += count - (this.#view.byteLength - this.#place);
    this.#view = new DataView(new ArrayBuffer(0));
    this.#place = 0;
  }

  /** A whole number of eight bytes; one that no file can hold is refused. */
  async count(): Promise<number> {
    await this.need(8);
    const [view, at] = this.take(8);
    const value = view.getBigUint64(at, true);
    if (value > BigInt(Number.MAX_SAFE_INTEGER)) {
      throw new Unreadable(`${this.name} announces an impossible number of entries: it is damaged, or its bytes are in another order.`);
    }
    return Number(value);
  }
}

const LONGEST_LINE = 1 << 24;

/** The lines of a text file. */
export async function* linesOf(file: Blob, name: string, progress: Progress = () => undefined, piece = PIECE): AsyncGenerator<string[]> {
  const decoder = new TextDecoder("utf-8");
  let rest = "";
  for (let start = 0; start < file.size; start += piece) {
    const bytes = await file.slice(start, start + piece).arrayBuffer();
    const lines = (rest + decoder.decode(bytes, { stream: true })).split(/\r?\n/);
    rest = lines.pop() ?? "";
    if (rest.length > LONGEST_LINE) throw new Unreadable(`${name} has a line of more than 16 million letters; it is no text of this kind.`);
    progress(Math.min(1, (start + piece) / file.size));
    yield lines;
  }
  rest += decoder.decode();
  if (rest !== "") yield [rest];
}
