/** A proxy that all traffic of a browser goes through: it keeps every request, whole. */

import { createServer, request as ask, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";

/** One request as it left the browser. */
export interface Recorded {
  readonly method: string;
  readonly url: string;
  readonly headers: readonly string[];
  readonly body: Buffer;
}

export class Recorder {
  readonly all: Recorded[] = [];
  /** False: every connection is refused, as where there is no network. */
  isUp = true;
  /** A server that answers otherwise than it should; null: as it does. */
  tamper: ((url: string, body: Buffer) => Buffer) | null = null;
  readonly #server: Server;

  private constructor(server: Server) {
    this.#server = server;
  }

  static async start(): Promise<Recorder> {
    const server = createServer();
    const recorder = new Recorder(server);
    server.on("request", (request: IncomingMessage, response: ServerResponse) => { recorder.#pass(request, response); });
    // What asks for a tunnel goes elsewhere, over TLS: kept by name, and refused.
    server.on("connect", (request, socket) => {
      recorder.all.push({ method: "CONNECT", url: request.url ?? "", headers: request.rawHeaders, body: Buffer.alloc(0) });
      socket.destroy();
    });
    await new Promise<void>((done) => { server.listen(0, "127.0.0.1", done); });
    return recorder;
  }

  get address(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  /** Requests that carried something. */
  get bodies(): readonly Recorded[] {
    return this.all.filter((request) => request.body.length > 0);
  }

  stop(): void {
    this.#server.closeAllConnections();
    this.#server.close();
  }

  #pass(request: IncomingMessage, response: ServerResponse): void {
    if (!this.isUp) {
      request.socket.destroy();
      return;
    }
    const pieces: Buffer[] = [];
    request.on("data", (piece: Buffer) => pieces.push(piece));
    request.on("end", () => {
      const body = Buffer.concat(pieces);
      const url = request.url ?? "";
      this.all.push({ method: request.method ?? "", url, headers: request.rawHeaders, body });
      if (!["127.0.0.1", "localhost"].includes(new URL(url).hostname)) {
        response.writeHead(502).end();
        return;
      }
      if (this.tamper !== null) delete request.headers["accept-encoding"]; // so that text is text
      const onward = ask(url, { method: request.method, headers: request.headers }, (answer) => {
        if (this.tamper === null) {
          response.writeHead(answer.statusCode ?? 502, answer.headers);
          answer.pipe(response);
        } else {
          this.#changed(url, answer, response, this.tamper);
        }
      });
      onward.on("error", () => { response.writeHead(502).end(); });
      onward.end(body);
    });
  }

  #changed(url: string, answer: IncomingMessage, response: ServerResponse, tamper: (url: string, body: Buffer) => Buffer): void {
    const pieces: Buffer[] = [];
    answer.on("data", (piece: Buffer) => pieces.push(piece));
    answer.on("end", () => {
      const body = tamper(url, Buffer.concat(pieces));
      response.writeHead(answer.statusCode ?? 502, { ...answer.headers, "content-length": String(body.length) }).end(body);
    });
  }
}
