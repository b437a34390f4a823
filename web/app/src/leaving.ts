/** The release as it leaves: every byte, and what each stretch of them is. */

import type { WordRelease } from "@sfumato/device";
import { thousands } from "./dom.ts";

const HEADER = 100;
const PER_LINE = 16;

/** Every byte in hexadecimal, sixteen a line, with a heading for each part of the wire format. */
export function hexDump(bytes: Uint8Array, release: WordRelease): string {
  const lines: string[] = [];
  for (const [name, start, end] of partsOf(bytes.length, release)) {
    lines.push(`${name}, ${thousands(end - start)} bytes`);
    for (let at = start; at < end; at += PER_LINE) {
      const row = bytes.subarray(at, Math.min(end, at + PER_LINE));
      lines.push(`${at.toString(16).padStart(6, "0")}  ${Array.from(row, (byte) => byte.toString(16).padStart(2, "0")).join(" ")}`);
    }
  }
  return lines.join("\n");
}

/** Names and limits of the parts, in order; together they are all of the bytes. */
export function partsOf(length: number, release: WordRelease): readonly (readonly [string, number, number])[] {
  const camera = HEADER + 8 * (release.camera?.params.length ?? 0);
  const positions = camera + 2 * release.keypoints.length;
  return [
    ["header: ε, sizes, dictionary", 0, HEADER],
    ["camera", HEADER, camera],
    ["positions of keypoints, not protected", camera, positions],
    ["words, drawn with noise", positions, length - 4],
    ["checksum", length - 4, length],
  ];
}

export async function sha256(bytes: Uint8Array<ArrayBuffer>): Promise<string> {
  const digest = new Uint8Array(await crypto.subtle.digest("SHA-256", bytes));
  return Array.from(digest, (byte) => byte.toString(16).padStart(2, "0")).join("");
}
