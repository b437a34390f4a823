/** The archive in which a server hands out a dictionary: a plain tar of .npy files, read without trust. */
import { at } from "../checks.ts";
import { BadAnswer } from "../errors.ts";

const BLOCK = 512;
const WANTED = /^(?:\.\/)?(manifest\.json|(?:words|weights)\.npy|level-[1-9][0-9]{0,7}\.npy)$/;

/** The few files of a dictionary that are used, by name; views of the archive's bytes. */
export function readTar(archive: Uint8Array): Map<string, Uint8Array> {
  const files = new Map<string, Uint8Array>();
  const text = new TextDecoder("latin1");
  let place = 0;
  while (place + BLOCK <= archive.length) {
    const header = archive.subarray(place, place + BLOCK);
    if (header.every((byte) => byte === 0)) return files;
    const field = (start: number, length: number): string =>
      text.decode(header.subarray(start, start + length)).split("\0", 1)[0] ?? "";
    const digits = field(124, 12).trim();
    if (!/^[0-7]{1,11}$/.test(digits)) throw broken("a file in it has no size");
    const size = parseInt(digits, 8);
    const end = place + BLOCK + size;
    if (end > archive.length) throw broken("it ends in the middle of a file");
    const name = WANTED.exec(field(0, 100))?.[1];
    if (name !== undefined) {
      const type = field(156, 1);
      if (type !== "0" && type !== "") throw new BadAnswer(`the server's dictionary has a ${name} that is no plain file.`);
      files.set(name, archive.subarray(place + BLOCK, end));
    }
    place = place + BLOCK + Math.ceil(size / BLOCK) * BLOCK;
  }
  throw broken("its end is missing");
}

function broken(why: string): BadAnswer {
  return new BadAnswer(`the server's dictionary is no whole archive: ${why}.`);
}

/** Whole numbers of an .npy file with their shape. */
export interface NpyArray {
  readonly shape: readonly number[];
  readonly values: Uint8Array | Uint32Array;
}

/** An array of bytes, or of unsigned numbers of 16 or 32 bits; its shape must fit its bytes. */
export function readNpy(name: string, file: Uint8Array): NpyArray {
  const wrong = (why: string): BadAnswer => new BadAnswer(`the server's dictionary has a ${name} that is ${why}.`);
  const magic = [0x93, 0x4e, 0x55, 0x4d, 0x50, 0x59, 1, 0];
  if (file.length < 10 || magic.some((byte, i) => file[i] !== byte)) throw wrong("no array");
  const start = 10 + at(file, 8) + 256 * at(file, 9);
  const header = new TextDecoder("latin1").decode(file.subarray(10, start));
  const found = /^\{'descr': '([|<]u[124])', 'fortran_order': False, 'shape': \((\d{1,9}(?:, ?\d{1,9})*),?\), \} *\n$/.exec(header);
  if (found === null) throw wrong("no array of whole numbers");
  const [, type = "", sizes = ""] = found;
  const shape = sizes.split(",").map(Number);
  const count = shape.reduce((product, size) => product * size, 1);
  const width = Number(type.at(-1));
  if (file.length - start !== count * width) throw wrong("shorter or longer than its shape");
  const content = file.slice(start);
  if (width === 1) return { shape, values: content };
  const view = new DataView(content.buffer);
  const values = new Uint32Array(count);
  for (let i = 0; i < count; i++) values[i] = width === 2 ? view.getUint16(2 * i, true) : view.getUint32(4 * i, true);
  return { shape, values };
}
