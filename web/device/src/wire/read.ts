/** The fields of a release from the bytes behind its header, whose length was checked already. */
import { CAMERA_MODELS, type Camera } from "../camera.ts";
import { at, checkCount } from "../checks.ts";
import { InvalidInput } from "../errors.ts";
import { bitWidth, unpackBits } from "./bits.ts";
import { MAX_WORDS } from "./canonical.ts";
import { FLOAT16, FLOAT32, LABELLED, REPRODUCIBLE, numParams, placesLength, type Header } from "./header.ts";
import { floatSize, floatsFromBytes, type FloatType } from "./numbers.ts";
import { unsnap } from "./positions.ts";
import type { CodeRelease, KeypointFields, Release } from "./releases.ts";

/** The release that these bytes say; `canonical` checks its fields. */
export function readRelease(header: Header, data: Uint8Array): Release {
  const name = nameOf(header.name);
  const reproducible = Boolean(header.flags & REPRODUCIBLE);
  const view = new DataView(data.buffer, data.byteOffset, data.byteLength);
  const params = Array.from({ length: numParams(header) }, (_, i) => view.getFloat64(8 * i, true));
  if (header.kind === "codes") return readCodes(header, data, name, reproducible);
  const { width, height, rows } = header;
  checkCount("image width", width, 1);
  checkCount("image height", height, 1);
  const start = 8 * params.length;
  const steps = Uint16Array.from({ length: 2 * rows }, (_, i) => view.getUint16(start + 2 * i, true));
  const camera: Camera | null =
    header.camera === 0 ? null : { model: at(CAMERA_MODELS, header.camera - 1)[0], width, height, params };
  const fields: KeypointFields = {
    ...{ reproducible, width, height, camera },
    keypoints: unsnap(steps, width, height),
    extractor: name,
  };
  return readRows(header, data.subarray(start + 4 * rows), fields);
}

function readRows(header: Header, payload: Uint8Array, fields: KeypointFields): Release {
  const { sizeA, sizeB, rows, epsilon, flags } = header;
  switch (header.kind) {
    case "words": {
      checkCount("numWords", sizeA, 2, MAX_WORDS);
      const words = unpackBits(payload, rows * sizeB, bitWidth(sizeA));
      const dictionary = Array.from(header.fingerprint, (byte) => byte.toString(16).padStart(2, "0")).join("");
      return { kind: "words", ...fields, numWords: sizeA, subsetSize: sizeB, epsilon, dictionary, words };
    }
    case "candidates": {
      const candidates = payload.slice();
      return { kind: "candidates", ...fields, dimension: sizeA, subsetSize: sizeB, epsilon, candidates };
    }
    case "subspaces": {
      if (!(flags & (FLOAT32 | FLOAT16))) throw new InvalidInput("subspaces are float32 or float16.");
      const type: FloatType = flags & FLOAT16 ? "float16" : "float32";
      const middle = rows * sizeA * floatSize(type);
      return {
        ...{ kind: "subspaces", ...fields, type, ambient: sizeA, dimension: sizeB },
        offsets: floatsFromBytes(payload.subarray(0, middle), type),
        bases: floatsFromBytes(payload.subarray(middle), type),
      };
    }
    default: {
      const descriptors = flags & FLOAT32 ? floatsFromBytes(payload, "float32") : payload.slice();
      return { kind: "plain", ...fields, dimension: sizeA, descriptors };
    }
  }
}

function readCodes(header: Header, data: Uint8Array, encoder: string, reproducible: boolean): CodeRelease {
  const { sizeA, sizeB, rows, epsilon } = header;
  checkCount("numPositions", sizeA, 1, MAX_WORDS);
  checkCount("numValues", sizeB, 2, MAX_WORDS);
  const labelled = Boolean(header.flags & LABELLED);
  const label = labelled ? new DataView(data.buffer, data.byteOffset).getUint32(0, true) : null;
  const payload = labelled ? data.subarray(4) : data;
  const middle = Number(placesLength(header));
  const positions = middle
    ? unpackBits(payload.subarray(0, middle), rows, bitWidth(sizeA))
    : Uint32Array.from({ length: rows }, (_, i) => i);
  const codes = unpackBits(payload.subarray(middle), rows, bitWidth(sizeB));
  return {
    ...{ kind: "codes", reproducible, encoder, epsilon, label, positions, codes },
    numPositions: sizeA,
    numValues: sizeB,
  };
}

function nameOf(bytes: Uint8Array): string {
  let end = bytes.length;
  while (end > 0 && bytes[end - 1] === 0) end--;
  return String.fromCharCode(...bytes.subarray(0, end));
}
