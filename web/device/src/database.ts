/** What this package keeps in a browser: one IndexedDB database with three stores. */
import { Missing, SfumatoError } from "./errors.ts";

const VERSION = 1;
/** The stores and the field that names an entry of each. */
const STORES = { sessions: "session", outbox: "id", dictionaries: "fingerprint" } as const;

/** The name of a store. */
export type Store = keyof typeof STORES;

/** Where databases come from; a test or a program in Node gives its own. */
export interface DatabaseOptions {
  /** The name of the database, "sfumato" where none is given. */
  readonly database?: string;
  /** `indexedDB` of the page or worker where none is given. */
  readonly factory?: IDBFactory;
}

/** Open the database, made where it does not exist yet; Missing where nothing can be kept. */
export async function openDatabase(options: DatabaseOptions = {}): Promise<IDBDatabase> {
  const factory = options.factory ?? (globalThis as { indexedDB?: IDBFactory }).indexedDB;
  if (factory === undefined) {
    throw new Missing("this page can keep nothing: IndexedDB is missing here (a private window, or not a browser).");
  }
  let request: IDBOpenDBRequest;
  try {
    request = factory.open(options.database ?? "sfumato", VERSION);
  } catch (error) {
    throw refused(error);
  }
  return new Promise((resolve, reject) => {
    request.onupgradeneeded = () => {
      for (const [store, keyPath] of Object.entries(STORES)) {
        if (!request.result.objectStoreNames.contains(store)) request.result.createObjectStore(store, { keyPath });
      }
    };
    request.onsuccess = () => {
      const database = request.result;
      database.onversionchange = () => {
        database.close();
      };
      resolve(database);
    };
    request.onerror = () => {
      reject(refused(request.error));
    };
    request.onblocked = () => {
      reject(new Missing("another tab holds an older version of this page's data; close the other tabs."));
    };
  });
}

function refused(error: unknown): Missing {
  const why = error instanceof Error ? error.name : "unknown";
  return new Missing(
    `this browser does not let the page keep anything (${why}); a private window or blocked storage may be the reason.`,
  );
}

/**
 * Do `work` in one transaction and return what it hands to `done`.
 *
 * Transactions on one store follow each other, in all tabs: what `work` reads cannot change before
 * it has written. What it throws undoes everything. The promise is kept when the browser says
 * that the data are on the disk.
 */
export async function inTransaction<T>(
  database: IDBDatabase,
  store: Store,
  mode: "readonly" | "readwrite",
  work: (objects: IDBObjectStore, done: (value: T) => void, guarded: Guarded) => void,
): Promise<T> {
  let transaction: IDBTransaction;
  try {
    transaction = database.transaction(store, mode, { durability: "strict" });
  } catch (error) {
    throw refused(error); // the data were removed, or the connection was closed
  }
  return new Promise((resolve, reject) => {
    let value: { readonly done: T } | undefined;
    let problem: unknown;
    const guarded: Guarded = (call) => () => {
      try {
        call();
      } catch (error) {
        problem = error;
        transaction.abort();
      }
    };
    transaction.oncomplete = () => {
      if (value === undefined) reject(new SfumatoError("a transaction ended without a result."));
      else resolve(value.done);
    };
    transaction.onabort = transaction.onerror = () => {
      const error = problem ?? refused(transaction.error);
      reject(error instanceof Error ? error : refused(error));
    };
    guarded(() => {
      work(transaction.objectStore(store), (done) => (value = { done }), guarded);
    })();
  });
}

/** Wraps a callback so that what it throws undoes the transaction. */
export type Guarded = (call: () => void) => () => void;

/** One entry of a store, or undefined. */
export function readEntry(database: IDBDatabase, store: Store, key: string): Promise<unknown> {
  return inTransaction<unknown>(database, store, "readonly", (objects, done, guarded) => {
    const request = objects.get(key);
    request.onsuccess = guarded(() => {
      done(request.result);
    });
  });
}

/** Write or replace one entry. */
export function writeEntry(database: IDBDatabase, store: Store, entry: object): Promise<void> {
  return inTransaction<undefined>(database, store, "readwrite", (objects, done) => {
    objects.put(entry);
    done(undefined);
  });
}

/** Remove one entry; nothing happens where it does not exist. */
export function removeEntry(database: IDBDatabase, store: Store, key: string): Promise<void> {
  return inTransaction<undefined>(database, store, "readwrite", (objects, done) => {
    objects.delete(key);
    done(undefined);
  });
}
