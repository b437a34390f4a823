/**
 * A release as bytes and back, byte for byte as docs/wire-format.md says.
 *
 * A release has exactly one encoding: after decoding, the bytes are made again and compared, so
 * padding, order and spare bits cannot carry a message.
 */
import { findModel } from "../camera.ts";
import { InvalidInput, MalformedRelease } from "../errors.ts";
import { bitWidth, packBits } from "./bits.ts";
import { canonical, plainBytes } from "./canonical.ts";
import {
  CRC_SIZE,
  FLOAT16,
  FLOAT32,
  HEADER_SIZE,
  LABELLED,
  REPRODUCIBLE,
  messageLength,
  readHeader,
  writeHeader,
  type Header,
} from "./header.ts";
import { crc32, floatsToBytes } from "./numbers.ts";
import { snap } from "./positions.ts";
import { readRelease } from "./read.ts";
import type { Release } from "./releases.ts";

interface Body {
  readonly sizeA: number;
  readonly sizeB: number;
  readonly flags?: number;
  readonly epsilon?: number;
  readonly fingerprint?: string;
  readonly payload: readonly Uint8Array[];
}

/** Encode a release of any kind; rows are ordered and positions put on the grid first. */
export function encode(given: Release): Uint8Array<ArrayBuffer> {
  const release = canonical(given);
  const body = bodyOf(release);
  const front: Uint8Array[] = [];
  const codes = release.kind === "codes";
  if (!codes) {
    if (release.camera !== null) front.push(bytesOf(Float64Array.from(release.camera.params)));
    front.push(bytesOf(snap(release.keypoints, release.width, release.height)));
  }
  const header: Header = {
    kind: release.kind,
    flags: (body.flags ?? 0) | (release.reproducible ? REPRODUCIBLE : 0),
    camera: codes || release.camera === null ? 0 : findModel(release.camera.model).number,
    rows: codes ? release.codes.length : release.keypoints.length / 2,
    width: codes ? 0 : release.width,
    height: codes ? 0 : release.height,
    sizeA: body.sizeA,
    sizeB: body.sizeB,
    epsilon: body.epsilon ?? 0,
    name: new TextEncoder().encode(codes ? release.encoder : release.extractor),
    fingerprint: hexBytes(body.fingerprint ?? ""),
  };
  const message = new Uint8Array(Number(messageLength(header)));
  writeHeader(header, message);
  let place = HEADER_SIZE;
  for (const part of [...front, ...body.payload]) {
    message.set(part, place);
    place += part.length;
  }
  new DataView(message.buffer).setUint32(place, crc32(message.subarray(0, place)), true);
  return message;
}

/** Decode exactly one release, or throw MalformedRelease; lengths are checked first. */
export function decode(data: Uint8Array): Release {
  const { header, length } = readHeader(data);
  if (length !== BigInt(data.length)) {
    throw new MalformedRelease(`the header announces ${length} bytes, got ${data.length}.`);
  }
  const end = data.length - CRC_SIZE;
  const checksum = new DataView(data.buffer, data.byteOffset, data.byteLength).getUint32(end, true);
  if (checksum !== crc32(data.subarray(0, end))) {
    throw new MalformedRelease("the checksum does not match; the bytes were damaged on the way.");
  }
  let release: Release;
  let again: Uint8Array;
  try {
    release = readRelease(header, data.subarray(HEADER_SIZE, end));
    again = encode(release);
  } catch (error) {
    if (error instanceof InvalidInput) throw new MalformedRelease(`not a valid release: ${error.message}`);
    throw error;
  }
  if (again.length !== data.length || again.some((byte, i) => byte !== data[i])) {
    throw new MalformedRelease(
      "this is not the canonical encoding of a release: rows must be ordered and unused bits zero.",
    );
  }
  return release;
}

function bodyOf(release: Release): Body {
  switch (release.kind) {
    case "plain": {
      const flags = release.descriptors instanceof Float32Array ? FLOAT32 : 0;
      return { sizeA: release.dimension, sizeB: 0, flags, payload: [plainBytes(release.descriptors)] };
    }
    case "words":
      return {
        sizeA: release.numWords,
        sizeB: release.subsetSize,
        epsilon: release.epsilon,
        fingerprint: release.dictionary,
        payload: [packBits(release.words, bitWidth(release.numWords))],
      };
    case "candidates":
      return {
        sizeA: release.dimension,
        sizeB: release.subsetSize,
        epsilon: release.epsilon,
        payload: [release.candidates],
      };
    case "subspaces": {
      const { type } = release;
      return {
        sizeA: release.ambient,
        sizeB: release.dimension,
        flags: type === "float16" ? FLOAT16 : FLOAT32,
        payload: [floatsToBytes(release.offsets, type), floatsToBytes(release.bases, type)],
      };
    }
    case "codes": {
      const label = release.label === null ? [] : [bytesOf(Uint32Array.of(release.label))];
      const complete = release.codes.length === release.numPositions;
      const places = complete ? [] : [packBits(release.positions, bitWidth(release.numPositions))];
      return {
        sizeA: release.numPositions,
        sizeB: release.numValues,
        flags: release.label === null ? 0 : LABELLED,
        epsilon: release.epsilon,
        payload: [...label, ...places, packBits(release.codes, bitWidth(release.numValues))],
      };
    }
  }
}

/** The bytes of whole numbers or doubles, little-endian whatever the machine. */
function bytesOf(values: Uint16Array | Uint32Array | Float64Array): Uint8Array {
  const view = new DataView(new ArrayBuffer(values.byteLength));
  const size = values.BYTES_PER_ELEMENT;
  values.forEach((value: number, i: number) => {
    if (values instanceof Float64Array) view.setFloat64(size * i, value, true);
    else if (values instanceof Uint32Array) view.setUint32(size * i, value, true);
    else view.setUint16(size * i, value, true);
  });
  return new Uint8Array(view.buffer);
}

function hexBytes(text: string): Uint8Array {
  return Uint8Array.from({ length: 32 }, (_, i) => (text === "" ? 0 : parseInt(text.slice(2 * i, 2 * i + 2), 16)));
}
