/** What an exported network says about itself: the JSON in its ONNX file, read without running it. */

import { InvalidInput } from "@sfumato/device";
import type { MapOptions } from "./pixels.ts";

const PAINTER = "sfumato.architecture";
const FRAMES = "sfumato.frames";
const METADATA_FIELD = 14; // ModelProto.metadata_props

export type Frames = "none" | "inferred" | "either";

/** What the page needs to know of a painter. */
export interface Architecture {
  readonly channels: number;
  readonly frames: Frames;
  readonly step: number | null;
  /** Whether it learned from private words, beside raw descriptors. */
  readonly readsWords: boolean;
  readonly map: MapOptions;
}

/** Key to value of a file's own description. */
export function readMetadata(file: Uint8Array): Map<string, string> {
  const found = new Map<string, string>();
  for (const [field, content] of fieldsOf(file)) {
    if (field !== METADATA_FIELD) continue;
    const entry = new Map(fieldsOf(content));
    const text = (number: number): string => new TextDecoder().decode(entry.get(number) ?? new Uint8Array());
    found.set(text(1), text(2));
  }
  return found;
}

/** Numbers and contents of a protobuf message's fields with a length; others are passed over. */
function* fieldsOf(message: Uint8Array): Generator<readonly [number, Uint8Array]> {
  let place = 0;
  const varint = (): number => {
    let [value, scale] = [0, 1];
    for (;;) {
      const byte = message[place++];
      if (byte === undefined) throw cut();
      value += (byte & 127) * scale;
      if (byte < 128) return value;
      scale *= 128;
    }
  };
  while (place < message.length) {
    const tag = varint();
    switch (tag & 7) {
      case 0:
        varint();
        break;
      case 1:
        place += 8;
        break;
      case 5:
        place += 4;
        break;
      case 2: {
        const length = varint();
        if (place + length > message.length) throw cut();
        yield [Math.floor(tag / 8), message.subarray(place, place + length)];
        place += length;
        break;
      }
      default:
        throw cut();
    }
  }
}

function cut(): InvalidInput {
  return new InvalidInput("the network's file is damaged or ends in the middle; load it again.");
}

/** The painter's shape; a network that this page cannot feed is refused. */
export function readPainter(file: Uint8Array): Architecture {
  const told = described(file, PAINTER) as { architecture?: Record<string, unknown>; step?: unknown; view?: unknown };
  // Fields that older files lack, and what networks were without them.
  const shape = { blocks: 1, patches: 0, covering: 0, ...told.architecture };
  const count = (name: string): number => {
    const value = (shape as Record<string, unknown>)[name];
    if (typeof value !== "number" || !(value >= 0 && value <= 65_536)) throw new InvalidInput(`the network describes itself without ${name}; export it again.`);
    return value;
  };
  const { extractor, frames, kind } = shape as Record<string, unknown>;
  if (kind !== "raw" || extractor !== "sift") throw new InvalidInput("the network must paint from raw sift descriptors; this page has no other input.");
  if (frames !== "none" && frames !== "inferred" && frames !== "either") {
    throw new InvalidInput("the network wants sizes and angles of keypoints, which no release carries; use one that infers them.");
  }
  const framed = frames !== "none";
  const map = { neighbours: count("neighbours"), radius: count("radius"), multiple: 2 << (count("depth") - 1), framed, covering: framed ? count("covering") : 0 };
  const readsWords = typeof told.view === "string" && told.view.startsWith("words");
  return { channels: count("channels"), frames, readsWords, step: typeof told.step === "number" ? told.step : null, map };
}

/** How many neighbours the network for frames asks. */
export function readFrames(file: Uint8Array): number {
  const { neighbours } = described(file, FRAMES) as { neighbours?: unknown };
  if (typeof neighbours === "number" && neighbours >= 1 && neighbours <= 256) return neighbours;
  throw new InvalidInput("the network for frames does not say how many neighbours it asks; export it again.");
}

function described(file: Uint8Array, key: string): object {
  const text = readMetadata(file).get(key);
  if (text === undefined) throw new InvalidInput("this file is not an inversion network of sfumato: it does not describe itself.");
  try {
    return Object(JSON.parse(text)) as object;
  } catch {
    throw cut();
  }
}
