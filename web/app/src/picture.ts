/** A file becomes pixels: upright, on white, no larger than wanted, and nothing else of it is kept. */

import type { Picture } from "@sfumato/device";
import { focal35 } from "./exif.ts";

/** A picture with what is known of its lens. */
export interface Taken extends Picture {
  readonly data: Uint8ClampedArray;
  /** Millimetres on 35 mm film; null where nobody knows. */
  readonly focal35: number | null;
  /** Width and height before it was made smaller. */
  readonly original: readonly [number, number];
}

const MOST_BYTES = 256 * 2 ** 20;
const MOST_PIXELS = 120_000_000;
const KNOWN = "JPEG, PNG, WebP, AVIF, GIF or BMP";

/** What the first bytes of a file say it is. */
export function kindOf(head: Uint8Array): "picture" | "heic" | "unknown" {
  const text = String.fromCharCode(...head.subarray(0, 16));
  const brand = text.slice(4, 12);
  if (/^ftyp(heic|heix|heim|heis|hevc|hevx|mif1|msf1)/.test(brand)) return "heic";
  if (text.startsWith("\xff\xd8\xff") || text.startsWith("\x89PNG\r\n\x1a\n")) return "picture";
  if (text.startsWith("RIFF") && text.slice(8, 12) === "WEBP") return "picture";
  if (/^ftyp(avif|avis)/.test(brand) || text.startsWith("GIF8") || text.startsWith("BM")) return "picture";
  return "unknown";
}

/** The pixels of a file, its longest side at most so long. */
export async function readPicture(file: Blob, longest: number): Promise<Taken> {
  if (file.size === 0) throw new Error("this file is empty; choose a photograph.");
  if (file.size > MOST_BYTES) throw new Error("a photograph may have 256 MB at most; choose a smaller one.");
  const head = new Uint8Array(await file.slice(0, 1 << 16).arrayBuffer());
  const kind = kindOf(head);
  if (kind === "unknown") throw new Error(`this file is not a picture (${KNOWN}), whatever its name says.`);
  const bitmap = await decode(file, kind === "heic");
  try {
    return { ...drawn(bitmap, bitmap.width, bitmap.height, longest), focal35: focal35(head) };
  } finally {
    bitmap.close();
  }
}

async function decode(file: Blob, heic: boolean): Promise<ImageBitmap> {
  try {
    return await createImageBitmap(file, { colorSpaceConversion: "none", premultiplyAlpha: "none" });
  } catch {
    throw new Error(
      heic
        ? "this browser cannot open HEIC photographs; save it as JPEG, or let the phone take “most compatible” ones."
        : "the picture is damaged, or too large for this browser; choose another one or make it smaller.",
    );
  }
}

/** What a canvas makes of a picture or a frame of video; the canvas is forgotten afterwards. */
export function drawn(
  source: CanvasImageSource,
  width: number,
  height: number,
  longest: number,
): Omit<Taken, "focal35"> {
  if (width < 1 || height < 1) throw new Error("the picture has no pixels; choose another one.");
  if (width * height > MOST_PIXELS) {
    throw new Error(`a photograph may have 120 megapixels, this one has ${Math.round((width * height) / 1e6)}; make it smaller.`);
  }
  const scale = Math.min(1, longest / Math.max(width, height));
  const size = [Math.max(1, Math.round(width * scale)), Math.max(1, Math.round(height * scale))] as const;
  const canvas = new OffscreenCanvas(size[0], size[1]);
  const context = canvas.getContext("2d", { willReadFrequently: true });
  if (context === null) throw new Error("this browser gives no canvas; free some memory and try again.");
  context.fillStyle = "#fff";
  context.fillRect(0, 0, size[0], size[1]);
  context.imageSmoothingQuality = "high";
  context.drawImage(source, 0, 0, size[0], size[1]);
  const pixels = context.getImageData(0, 0, size[0], size[1]);
  return { width: size[0], height: size[1], data: pixels.data, original: [width, height] };
}
