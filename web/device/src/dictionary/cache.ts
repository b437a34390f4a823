/** Words that were fetched once, kept in this browser and verified again whenever they are read. */
import { openDatabase, readEntry, removeEntry, writeEntry, type DatabaseOptions } from "../database.ts";
import { Missing } from "../errors.ts";
import { Dictionary, type DictionaryArrays } from "./dictionary.ts";

/** The pinned words if they are kept here and still what was pinned; else null. */
export async function cachedDictionary(pin: string, options: DatabaseOptions = {}): Promise<Dictionary | null> {
  return withDatabase(options, null, async (database) => {
    const entry = (await readEntry(database, "dictionaries", pin)) as { arrays?: DictionaryArrays } | undefined;
    if (entry?.arrays === undefined) return null;
    try {
      return await Dictionary.verify(entry.arrays, pin);
    } catch (error) {
      if (error instanceof Missing) throw error;
      await removeEntry(database, "dictionaries", pin); // damaged, or of an earlier version: fetched again
      return null;
    }
  });
}

/** Keep verified words; false where this browser keeps nothing, and they are fetched again. */
export async function keepDictionary(pin: string, words: Dictionary, options: DatabaseOptions = {}): Promise<boolean> {
  return withDatabase(options, false, async (database) => {
    await writeEntry(database, "dictionaries", { fingerprint: pin, arrays: words.arrays });
    return true;
  });
}

/** A cache may be missing or full: that costs a download, nothing else. */
async function withDatabase<T>(options: DatabaseOptions, otherwise: T, work: (database: IDBDatabase) => Promise<T>): Promise<T> {
  let database: IDBDatabase;
  try {
    database = await openDatabase(options);
  } catch {
    return otherwise;
  }
  try {
    return await work(database);
  } catch (error) {
    if (error instanceof Missing && !error.message.startsWith("words cannot be verified")) return otherwise;
    throw error;
  } finally {
    database.close();
  }
}
