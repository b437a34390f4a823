/**
 * Releases that wait for a server: charged once, drawn once, sent when there is a network.
 *
 * Each is kept in this browser from its charge until its answer. A tab that dies in between, or two
 * tabs at once, send the same bytes again, which tells a server nothing new.
 */
import { inTransaction, openDatabase, removeEntry, writeEntry, type DatabaseOptions } from "../database.ts";
import { InvalidInput } from "../errors.ts";

/** A release that waits. */
export interface Waiting {
  /** When it was drawn and what it holds; says nothing about the picture. */
  readonly id: string;
  /** The map it is for, or null for the client's own. */
  readonly map: string | null;
  readonly data: Uint8Array<ArrayBuffer>;
}

/** The waiting releases of this browser, oldest first. */
export class Outbox {
  readonly #database: IDBDatabase;

  private constructor(database: IDBDatabase) {
    this.#database = database;
  }

  /** Open the outbox; refused where this browser keeps nothing. */
  static async open(options: DatabaseOptions = {}): Promise<Outbox> {
    try {
      return new Outbox(await openDatabase(options));
    } catch (error) {
      const why = error instanceof Error ? error.message : "";
      throw new InvalidInput(`the outbox cannot be used: ${why} Nothing was charged or sent; leave it out to send at once.`);
    }
  }

  /** Keep a release that was charged. */
  async add(data: Uint8Array<ArrayBuffer>, map: string | null): Promise<Waiting> {
    const mark = Array.from(crypto.getRandomValues(new Uint8Array(8)), (byte) => byte.toString(16).padStart(2, "0"));
    const waiting: Waiting = { id: `${String(Date.now()).padStart(15, "0")}-${mark.join("")}`, map, data };
    await writeEntry(this.#database, "outbox", waiting);
    return waiting;
  }

  /** All that were not answered yet, in the order they were made. */
  waiting(): Promise<Waiting[]> {
    return inTransaction<Waiting[]>(this.#database, "outbox", "readonly", (objects, done, guarded) => {
      const request = objects.getAll();
      request.onsuccess = guarded(() => {
        done(request.result as Waiting[]);
      });
    });
  }

  /** Forget a release that was answered; one that cannot be removed is only sent again. */
  async remove(id: string): Promise<void> {
    await removeEntry(this.#database, "outbox", id).catch(() => undefined);
  }

  /** Let go of the database. */
  close(): void {
    this.#database.close();
  }
}
