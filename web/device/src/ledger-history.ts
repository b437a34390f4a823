/**
 * When what was charged: kept beside the account for people to read, never used to count.
 *
 * The account stays right where the history has gaps: an older version of this package charges
 * without it, and only the newest entries are kept.
 */
import { inTransaction, openDatabase, type DatabaseOptions } from "./database.ts";
import type { PrivacyEvent } from "./privacy/event.ts";

/** The oldest entries are dropped beyond so many; what they cost stays in the account. */
export const MOST_HISTORY = 2000;

/** One charge of one picture. No name and no content of it is kept. */
export interface ChargeEntry {
  /** Milliseconds since 1970, by this device's clock. */
  readonly time: number;
  readonly mechanism: string;
  /** Per descriptor; null: without a guarantee. */
  readonly epsilon: number | null;
  /** Descriptors that were sent. */
  readonly units: number;
  readonly numValues: number | null;
  readonly subsetSize: number;
}

/** The history with one more charge. */
export function withCharge(history: unknown, event: PrivacyEvent, time = Date.now()): readonly ChargeEntry[] {
  const { epsilon, mechanism, numUnits: units, numValues, subsetSize } = event;
  return [...historyOf(history), { time, mechanism, epsilon, units, numValues, subsetSize }].slice(-MOST_HISTORY);
}

/** What is kept and makes sense, oldest first. */
export function historyOf(stored: unknown): readonly ChargeEntry[] {
  if (!Array.isArray(stored)) return [];
  return (stored as unknown[]).filter(isEntry);
}

function isEntry(value: unknown): value is ChargeEntry {
  if (typeof value !== "object" || value === null) return false;
  const { epsilon, mechanism, numValues, subsetSize, time, units } = value as Partial<Record<keyof ChargeEntry, unknown>>;
  const isCount = (count: unknown, low: number): boolean => Number.isSafeInteger(count) && (count as number) >= low;
  return (
    Number.isFinite(time) && typeof mechanism === "string" && isCount(units, 0) && isCount(subsetSize, 1) &&
    (epsilon === null || (typeof epsilon === "number" && epsilon > 0 && Number.isFinite(epsilon))) && (numValues === null || isCount(numValues, 2))
  );
}

/** The sessions that have an account in this browser, by name; none where nothing can be kept. */
export async function sessionNames(options: DatabaseOptions = {}): Promise<string[]> {
  const database = await openDatabase(options);
  try {
    return await inTransaction<string[]>(database, "sessions", "readonly", (objects, done, guarded) => {
      const request = objects.getAllKeys();
      request.onsuccess = guarded(() => { done(request.result.filter((name) => typeof name === "string").sort()); });
    });
  } finally {
    database.close();
  }
}
