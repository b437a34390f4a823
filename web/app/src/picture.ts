/** A file or a frame becomes pixels: upright, small enough, and nothing else of it is kept. */

import { openPicture, type ImageSource, type Opened } from "@sfumato/device";
import { focal35 } from "./exif.ts";

/** A picture with what is known of its lens. */
export interface Taken extends Opened {
  /** Millimetres on 35 mm film; null where nobody knows. */
  readonly focal35: number | null;
}

const MOST_BYTES = 256 * 2 ** 20;
const HEAD = 1 << 16; // EXIF stands in the first segment, which is no longer
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

/** The pixels of a file. */
export async function readPicture(file: Blob, maxPixels: number): Promise<Taken> {
  if (file.size === 0) throw new Error("this file is empty; choose a photograph.");
  if (file.size > MOST_BYTES) throw new Error("a photograph may have 256 MB at most; choose a smaller one.");
  const head = new Uint8Array(await file.slice(0, HEAD).arrayBuffer());
  const kind = kindOf(head);
  if (kind === "unknown") throw new Error(`this file is not a picture (${KNOWN}), whatever its name says.`);
  try {
    return await opened(file, maxPixels, focal35(head));
  } catch (error) {
    if (kind === "picture") throw error;
    throw new Error("this browser cannot open HEIC photographs; save it as JPEG, or let the phone take “most compatible” ones.");
  }
}

/** The frame that a camera shows now. */
export async function readFrame(video: HTMLVideoElement, maxPixels: number): Promise<Taken> {
  if (video.videoWidth === 0) throw new Error("the camera shows nothing yet; wait a moment.");
  return opened(await createImageBitmap(video), maxPixels, null);
}

async function opened(source: ImageSource, maxPixels: number, lens: number | null): Promise<Taken> {
  return { ...(await openPicture(source, maxPixels)), focal35: lens };
}
