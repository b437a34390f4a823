/**
 * The fixed part of a message, and how long the message must be from it alone.
 *
 *     offset size
 *        0    4   magic "SFUM"
 *        4    1   version
 *        5    1   kind: 1 plain, 2 words, 3 candidates, 4 subspaces, 5 codes
 *        6    1   flags: 1 reproducible, 2 float32 payload, 4 float16 payload, 8 labelled
 *        7    1   camera model, 0 for none
 *        8   20   N, width, height, size A, size B
 *       28    8   ε
 *       36   24   name of the extractor or encoder
 *       60   32   fingerprint of the dictionary
 *       92    8   length of the whole message
 */
import { CAMERA_MODELS } from "../camera.ts";
import { at } from "../checks.ts";
import { MalformedRelease } from "../errors.ts";
import { packedLength } from "./bits.ts";
import type { Release } from "./releases.ts";

export const HEADER_SIZE = 100;
export const CRC_SIZE = 4;
const VERSION = 1;
const MAGIC = [0x53, 0x46, 0x55, 0x4d];

/** Flags of a message. */
export const REPRODUCIBLE = 1;
export const FLOAT32 = 2;
export const FLOAT16 = 4;
export const LABELLED = 8;

/** The kinds in the order of their numbers, which begin at 1, with the flags each may have. */
const KINDS: readonly (readonly [Release["kind"], number])[] = [
  ["plain", FLOAT32],
  ["words", 0],
  ["candidates", 0],
  ["subspaces", FLOAT32 | FLOAT16],
  ["codes", LABELLED],
];

/** The fields of the fixed part. */
export interface Header {
  readonly kind: Release["kind"];
  readonly flags: number;
  /** Number of the camera model, 0 for none. */
  readonly camera: number;
  readonly rows: number;
  readonly width: number;
  readonly height: number;
  readonly sizeA: number;
  readonly sizeB: number;
  readonly epsilon: number;
  /** Name of the extractor or encoder, filled with zeros to 24 bytes. */
  readonly name: Uint8Array;
  /** 32 bytes. */
  readonly fingerprint: Uint8Array;
}

/** How many parameters the camera of a header has. */
export function numParams(header: Header): number {
  return header.camera === 0 ? 0 : at(CAMERA_MODELS, header.camera - 1)[1];
}

/** Bytes of the positions. */
export function positionsLength(header: Header): bigint {
  return header.kind === "codes" ? 0n : 4n * BigInt(header.rows);
}

/** Bytes of the list of places that codes have; none where a picture sends all of them. */
export function placesLength(header: Header): bigint {
  return header.rows === header.sizeA ? 0n : packedLength(BigInt(header.rows), header.sizeA);
}

/** How long the message must be, from the other fields alone; exact however large they are. */
export function messageLength(header: Header): bigint {
  const [rows, a, b] = [BigInt(header.rows), BigInt(header.sizeA), BigInt(header.sizeB)];
  const item = header.flags & FLOAT32 ? 4n : header.flags & FLOAT16 ? 2n : 1n;
  const label = header.flags & LABELLED ? 4n : 0n;
  const payload = {
    plain: () => rows * a * item,
    words: () => packedLength(rows * b, header.sizeA),
    candidates: () => rows * a * b,
    subspaces: () => rows * (b + 1n) * a * item,
    codes: () => label + placesLength(header) + packedLength(rows, header.sizeB),
  }[header.kind]();
  return BigInt(HEADER_SIZE + CRC_SIZE + 8 * numParams(header)) + positionsLength(header) + payload;
}

/** Write the fixed part into a message of the length that it implies. */
export function writeHeader(header: Header, message: Uint8Array): void {
  const view = new DataView(message.buffer, message.byteOffset, message.byteLength);
  message.set(MAGIC, 0);
  const kind = KINDS.findIndex(([name]) => name === header.kind) + 1;
  message.set([VERSION, kind, header.flags, header.camera], 4);
  const sizes = [header.rows, header.width, header.height, header.sizeA, header.sizeB];
  sizes.forEach((value, i) => {
    view.setUint32(8 + 4 * i, value, true);
  });
  view.setFloat64(28, header.epsilon, true);
  message.set(header.name, 36);
  message.set(header.fingerprint, 60);
  view.setBigUint64(92, BigInt(message.length), true);
}

/** Read and check the fixed part; needs only the first 100 bytes. */
export function readHeader(data: Uint8Array): { header: Header; length: bigint } {
  if (data.length < HEADER_SIZE) {
    throw new MalformedRelease(`a release has at least ${HEADER_SIZE + CRC_SIZE} bytes, got ${data.length}.`);
  }
  const view = new DataView(data.buffer, data.byteOffset, data.byteLength);
  if (MAGIC.some((byte, i) => data[i] !== byte)) {
    throw new MalformedRelease("these bytes are not an sfumato release (wrong magic).");
  }
  const [version, number, flags, camera] = [at(data, 4), at(data, 5), at(data, 6), at(data, 7)];
  if (version !== VERSION) {
    throw new MalformedRelease(
      `this release has wire version ${version}, this sfumato reads ${VERSION}; update the older side.`,
    );
  }
  const found = KINDS[number - 1];
  if (found === undefined) throw new MalformedRelease(`unknown kind of release ${number}.`);
  const [kind, known] = found;
  if (camera > CAMERA_MODELS.length) throw new MalformedRelease(`unknown camera model ${camera}.`);
  if (flags & ~(REPRODUCIBLE | known) || (flags & FLOAT32 && flags & FLOAT16)) {
    throw new MalformedRelease(`unknown flags 0x${flags.toString(16)}.`);
  }
  const [rows, width, height, sizeA, sizeB] = [8, 12, 16, 20, 24].map((place) => view.getUint32(place, true)) as [
    number,
    number,
    number,
    number,
    number,
  ];
  const header: Header = {
    ...{ kind, flags, camera, rows, width, height, sizeA, sizeB },
    epsilon: view.getFloat64(28, true),
    name: data.slice(36, 60),
    fingerprint: data.slice(60, 92),
  };
  const length = view.getBigUint64(92, true);
  const expected = messageLength(header);
  if (length !== expected) {
    throw new MalformedRelease(`the header announces ${length} bytes, its own fields make ${expected}.`);
  }
  return { header, length };
}
