/**
 * The manifest of a stored folder, and the checksum it carries of itself.
 *
 * The checksum is SHA-256 over the manifest without its own checksum, as Python's json.dumps with
 * sorted keys writes it. Numbers therefore stay the text that they are in the file: 1.0 is not 1.
 */

import { Unreadable } from "./problem.ts";

const LONGEST = 4 << 20;
const DEEPEST = 64;

/** The manifest as an object, after its checksum was compared. */
export async function readManifest(bytes: Uint8Array): Promise<Record<string, unknown>> {
  if (bytes.length > LONGEST) throw new Unreadable("manifest.json is longer than 4 MiB, which no map of sfumato has.");
  let text: string;
  let content: unknown;
  try {
    text = new TextDecoder("utf-8", { fatal: true }).decode(bytes);
    content = JSON.parse(text);
  } catch {
    throw new Unreadable("manifest.json is damaged: it is not valid JSON. Copy the map again.");
  }
  if (typeof content !== "object" || content === null || Array.isArray(content)) {
    throw new Unreadable("manifest.json is damaged: it is no object. Copy the map again.");
  }
  const told = content as Record<string, unknown>;
  const own = new TextEncoder().encode(canonicalText(text, "checksum"));
  if (told["checksum"] !== (await sha256(own))) {
    throw new Unreadable("manifest.json is damaged: its checksum does not match. Copy the map again.");
  }
  return told;
}

/** SHA-256 in hexadecimal. */
export async function sha256(bytes: Uint8Array<ArrayBuffer>): Promise<string> {
  const subtle = (globalThis as { crypto?: Partial<Crypto> }).crypto?.subtle;
  if (subtle === undefined) {
    throw new Unreadable("A map cannot be checked here: this browser gives checksums to https:// and to this machine's own pages alone.");
  }
  const digest = new Uint8Array(await subtle.digest("SHA-256", bytes));
  return Array.from(digest, (byte) => byte.toString(16).padStart(2, "0")).join("");
}

/** Valid JSON as json.dumps(…, sort_keys=True) writes it, without one key of the outermost object. */
export function canonicalText(text: string, without: string): string {
  let place = 0;
  const blank = /[ \t\r\n]*/y;
  const token = /"(?:[^"\\]|\\.)*"|-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?|true|false|null/y;
  const skip = (): void => {
    blank.lastIndex = place;
    blank.test(text);
    place = blank.lastIndex;
  };
  const take = (): string => {
    token.lastIndex = place;
    const found = token.exec(text);
    if (found === null) throw new Unreadable("manifest.json is damaged: it is not valid JSON. Copy the map again.");
    place = token.lastIndex;
    return found[0];
  };
  const value = (depth: number): string => {
    if (depth > DEEPEST) throw new Unreadable("manifest.json is nested too deeply to be a map's.");
    skip();
    const opening = text.charAt(place);
    if (opening !== "{" && opening !== "[") {
      const plain = take();
      return plain.startsWith('"') ? asciiText(JSON.parse(plain) as string) : plain;
    }
    place++;
    const closing = opening === "{" ? "}" : "]";
    const items: (readonly [string, string])[] = [];
    for (;;) {
      skip();
      if (text.charAt(place) === closing) break;
      if (text.charAt(place) === ",") place++;
      skip();
      let key = "";
      if (opening === "{") {
        key = JSON.parse(take()) as string;
        skip();
        place++; // the colon
      }
      items.push([key, value(depth + 1)]);
    }
    place++;
    if (opening === "[") return `[${items.map(([, item]) => item).join(", ")}]`;
    const named = new Map(items); // of a key written twice the last counts, as in Python
    if (depth === 0) named.delete(without);
    const sorted = [...named].sort(([one], [other]) => byCodePoint(one, other));
    return `{${sorted.map(([key, item]) => `${asciiText(key)}: ${item}`).join(", ")}}`;
  };
  return value(0);
}

const SHORT: Record<string, string> = { '"': '\\"', "\\": "\\\\", "\n": "\\n", "\r": "\\r", "\t": "\\t", "\b": "\\b", "\f": "\\f" };

function asciiText(text: string): string {
  const escaped = text.replace(/["\\\u0000-\u001f\u007f-\uffff]/g, (letter) =>
    SHORT[letter] ?? `\\u${letter.charCodeAt(0).toString(16).padStart(4, "0")}`);
  return `"${escaped}"`;
}

function byCodePoint(one: string, other: string): number {
  const [a, b] = [Array.from(one), Array.from(other)];
  for (let i = 0; i < Math.min(a.length, b.length); i++) {
    const difference = (a[i]?.codePointAt(0) ?? 0) - (b[i]?.codePointAt(0) ?? 0);
    if (difference !== 0) return difference;
  }
  return a.length - b.length;
}
