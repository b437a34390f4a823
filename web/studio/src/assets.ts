/** Files that lie beside the page: words, networks, examples. Fetched from its own address and nowhere else. */

import { Missing } from "@sfumato/device";
import type { Work } from "./shell.ts";

/** The bytes of a file, with progress; ".gz" files are unpacked here, so that plain file servers will do. */
export async function fetchAsset(path: string, work: Partial<Work> = {}): Promise<Uint8Array<ArrayBuffer>> {
  const response = await answered(path, work.signal);
  const [bytes, size] = [response.body, Number(response.headers.get("content-length") ?? NaN)];
  if (bytes === null) throw missing(path);
  const whole = await collect(bytes, response.headers.has("content-encoding") ? NaN : size, path, work);
  const isPacked = path.endsWith(".gz") && whole[0] === 0x1f && whole[1] === 0x8b; // a server may have unpacked it
  return isPacked ? collect(new Blob([whole]).stream().pipeThrough(new DecompressionStream("gzip")), NaN, path, {}) : whole;
}

async function answered(path: string, signal: AbortSignal | undefined): Promise<Response> {
  let response: Response;
  try {
    response = await fetch(new URL(path, document.baseURI), signal === undefined ? {} : { signal });
  } catch (error) {
    if (signal?.aborted === true) throw error;
    throw new Missing(`the file ${path} could not be loaded: the connection failed; try again.`);
  }
  // A server may answer any address with its start page.
  if (!response.ok || (response.headers.get("content-type") ?? "").startsWith("text/html")) throw missing(path);
  return response;
}

function missing(path: string): Missing {
  return new Missing(`the file ${path} is not beside this page: it was built without it; run "bash scripts/studio", which puts it there.`);
}

async function collect(stream: ReadableStream<Uint8Array<ArrayBuffer>>, size: number, path: string, work: Partial<Work>): Promise<Uint8Array<ArrayBuffer>> {
  const pieces: Uint8Array<ArrayBuffer>[] = [];
  let length = 0;
  const reader = stream.getReader();
  try {
    for (;;) {
      const { done, value } = await reader.read();
      if (done) break;
      pieces.push(value);
      length += value.length;
      work.progress?.(size > 0 ? Math.min(0.999, length / size) : null);
    }
  } catch (error) {
    if (work.signal?.aborted === true) throw error;
    throw new Missing(`the file ${path} ended in the middle; load it again.`);
  }
  const whole = new Uint8Array(length);
  pieces.reduce((at, piece) => (whole.set(piece, at), at + piece.length), 0);
  return whole;
}
