/** One question to a server: sent, sent again where that is safe, and read with suspicion. */
import { checkCount, checkNumber } from "../checks.ts";
import { BadAnswer, InvalidInput, Refused, Unreachable } from "../errors.ts";
import { printable } from "./text.ts";

/** The server is busy or a proxy before it lost the way: the same bytes may be sent again. */
const COME_BACK = [408, 429, 502, 503, 504];
const SMALL = 1 << 16;

/** How long a client tries. */
export interface Patience {
  /** Seconds one question may take, all tries and waits together; 120 where none is given. */
  readonly deadline?: number | undefined;
  /** How often it is sent at most; 4 where none is given. */
  readonly tries?: number | undefined;
}

/** Where a client sends, and with which key: checked once, before anything leaves. */
export class Server {
  readonly address: URL;
  readonly #key: string;
  readonly #deadline: number;
  readonly #tries: number;
  readonly #fetch: typeof fetch;

  constructor(address: string, key: string, options: ServerOptions = {}) {
    this.address = checkAddress(address, options.allowHttp ?? false);
    if (typeof key !== "string" || !/^[A-Za-z0-9._~+/=-]{8,512}$/.test(key)) {
      throw new InvalidInput(
        "key must be an API key of the server, 8 to 512 letters, digits or . _ ~ + / = -; what was given is not one.",
      );
    }
    this.#key = key;
    this.#deadline = checkNumber("deadline", options.patience?.deadline ?? 120);
    if (!(this.#deadline > 0 && this.#deadline <= 86_400)) {
      throw new InvalidInput(`deadline must be above 0 and at most a day in seconds, got ${this.#deadline}.`);
    }
    this.#tries = checkCount("tries", options.patience?.tries ?? 4, 1, 100);
    this.#fetch = options.fetch ?? ((input, init) => fetch(input, init));
  }

  /** Send a request until it is answered; every try sends the same bytes. */
  async ask(path: string, question: Question = {}): Promise<Uint8Array> {
    const end = performance.now() + 1000 * this.#deadline;
    const tries = question.tries ?? this.#tries;
    let why = "";
    let tried = 0;
    while (tried < tries) {
      tried++;
      let pause = 0.25 * 2 ** Math.min(tried - 1, 6) * someShare(); // not all clients at once
      try {
        const reply = await this.#send(path, question, end);
        if (!COME_BACK.includes(reply.status)) return accepted(reply);
        why = `it is busy (${explanation(reply)})`;
        if (reply.retryAfter !== null) {
          pause = reply.retryAfter;
          why += ` and asks to come back after ${pause} s`;
        }
      } catch (error) {
        if (error instanceof BadAnswer || error instanceof Refused) throw error;
        why = isTimeout(error) ? "it took too long" : "there is no connection, or the server does not allow this page";
      }
      if (tried === tries || performance.now() + 1000 * pause >= end) break;
      await new Promise((resolve) => setTimeout(resolve, 1000 * pause));
    }
    throw new Unreachable(
      `the server gave no answer in ${tried} of ${tries} tries within ${this.#deadline} s: ${why}.`,
    );
  }

  async #send(path: string, question: Question, end: number): Promise<Reply> {
    const left = end - performance.now();
    if (left <= 0) throw new DOMException("the deadline passed", "TimeoutError");
    const body = question.body;
    const response = await this.#fetch(new URL(path, this.address), {
      method: body === undefined ? "GET" : "POST",
      headers: {
        Authorization: `Bearer ${this.#key}`,
        ...(body === undefined ? {} : { "Content-Type": "application/octet-stream" }),
      },
      ...(body === undefined ? {} : { body }),
      signal: AbortSignal.timeout(Math.ceil(left)), // Node takes whole milliseconds only
      cache: "no-store",
      credentials: "omit",
      redirect: "manual",
      referrerPolicy: "no-referrer",
    });
    const after = response.headers.get("retry-after") ?? "";
    return {
      status: response.type === "opaqueredirect" ? 302 : response.status,
      retryAfter: /^\d{1,7}$/.test(after) ? Number(after) : null,
      requestId: printable(response.headers.get("x-request-id") ?? "", 64),
      body: await readLimited(response, question.maxBytes ?? SMALL, question.progress),
    };
  }
}

/** What can be chosen about a server. */
export interface ServerOptions {
  readonly patience?: Patience | undefined;
  /** Send without TLS to other machines than this one. */
  readonly allowHttp?: boolean | undefined;
  /** Another fetch, for tests. */
  readonly fetch?: typeof fetch | undefined;
}

/** What is asked. */
export interface Question {
  /** Posted where it is given. */
  readonly body?: Uint8Array<ArrayBuffer> | undefined;
  /** A longer answer is not read to its end. */
  readonly maxBytes?: number | undefined;
  readonly tries?: number | undefined;
  /** How much of a long answer has come, from 0 to 1. */
  readonly progress?: ((done: number) => void) | undefined;
}

interface Reply {
  readonly status: number;
  readonly retryAfter: number | null;
  readonly requestId: string;
  readonly body: Uint8Array;
}

/** The base address of a server; without TLS only this machine is believed. */
function checkAddress(text: string, allowHttp: boolean): URL {
  let address: URL;
  try {
    address = new URL(text);
  } catch {
    throw new InvalidInput("server must be the address of a server, such as https://maps.example.");
  }
  if (!["http:", "https:"].includes(address.protocol)) throw new InvalidInput("server must begin with https://.");
  if (address.username !== "" || address.password !== "" || address.search !== "" || address.hash !== "") {
    throw new InvalidInput("server must be a plain address without user, password, query or fragment.");
  }
  const here = /^(localhost|127(\.\d{1,3}){3}|\[::1\])$/.test(address.hostname);
  if (address.protocol === "http:" && !allowHttp && !here) {
    throw new InvalidInput(
      `http:// to ${address.hostname} would send the key and the release unencrypted; use https://, or allow it ` +
        "explicitly for a network you trust (allowHttp).",
    );
  }
  address.pathname = `${address.pathname.replace(/\/+$/, "")}/`;
  return address;
}

async function readLimited(response: Response, most: number, progress?: (done: number) => void): Promise<Uint8Array> {
  const announced = Number(response.headers.get("content-length") ?? "0");
  const parts: Uint8Array[] = [];
  let length = 0;
  const reader = response.body?.getReader();
  for (;;) {
    const piece = await reader?.read();
    if (piece === undefined || piece.done) break;
    length += piece.value.length;
    if (length > most) {
      void reader?.cancel().catch(() => undefined);
      throw new BadAnswer(`the server's answer is longer than ${most} bytes, the most that is read here.`);
    }
    parts.push(piece.value);
    if (announced > 0) progress?.(Math.min(length / announced, 1));
  }
  const whole = new Uint8Array(length);
  let place = 0;
  for (const part of parts) {
    whole.set(part, place);
    place += part.length;
  }
  return whole;
}

function accepted(reply: Reply): Uint8Array {
  if (reply.status >= 200 && reply.status < 300) return reply.body;
  if (reply.status >= 300 && reply.status < 400) {
    throw new Refused(
      "the server redirects to another address, which is not followed: what leaves this device goes where you said; " +
        "give the final address.",
      reply.status,
    );
  }
  const code = detailsOf(reply)["error"];
  const verb = reply.status < 500 ? "refused" : "failed";
  throw new Refused(
    `the server ${verb} (${explanation(reply)}).`,
    reply.status,
    typeof code === "string" ? printable(code, 60) : "",
  );
}

function explanation(reply: Reply): string {
  const detail = detailsOf(reply)["detail"];
  const sentence = typeof detail === "string" ? `: ${printable(detail).replace(/\.+$/, "")}` : "";
  return `status ${reply.status}${sentence}${reply.requestId === "" ? "" : `; request ${reply.requestId}`}`;
}

function detailsOf(reply: Reply): Record<string, unknown> {
  try {
    const content: unknown = JSON.parse(new TextDecoder().decode(reply.body));
    return typeof content === "object" && content !== null ? { ...content } : {};
  } catch {
    return {};
  }
}

function isTimeout(error: unknown): boolean {
  return error instanceof Error && (error.name === "TimeoutError" || error.name === "AbortError");
}

/** A number from 0.5 to 1.5. */
function someShare(): number {
  return 0.5 + (crypto.getRandomValues(new Uint8Array(1))[0] ?? 0) / 256;
}
