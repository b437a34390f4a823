// The browser's SIFT and word search in Node, for browser_sift.py: built files, the same engine.
// In: a line of JSON, then bytes; out: the same. First the words, then one picture after the other.
import { readSync, writeSync } from "node:fs";
import { loadNative, Sift, WordSearch } from "../web/device/dist/index.js";

function read(length) {
  const bytes = new Uint8Array(length);
  for (let have = 0; have < length; ) {
    const more = readSync(0, bytes, have, length - have, null);
    if (more === 0) process.exit(0);
    have += more;
  }
  return bytes;
}

function readLine() {
  let text = "";
  for (;;) {
    const letter = String.fromCharCode(read(1)[0]);
    if (letter === "\n") return JSON.parse(text);
    text += letter;
  }
}

function write(bytes) {
  for (let done = 0; done < bytes.length; ) done += writeSync(1, bytes, done);
}

const bytesOf = (array) => new Uint8Array(array.buffer, array.byteOffset, array.byteLength);
const native = await loadNative();
const sift = new Sift(native);
const { words, centres } = readLine();
const search = new WordSearch(native, read(words), read(centres));
for (;;) {
  const { width, height } = readLine();
  const data = read(4 * width * height);
  const start = process.cpuUsage();
  const features = sift.extract({ width, height, data });
  const nearest = search.nearest(features.descriptors);
  const { user, system } = process.cpuUsage(start);
  write(Buffer.from(`${JSON.stringify({ count: nearest.length, seconds: (user + system) / 1e6 })}\n`));
  for (const name of ["keypoints", "scales", "angles", "scores", "descriptors"]) write(bytesOf(features[name]));
  write(bytesOf(nearest));
}
