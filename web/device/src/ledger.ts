/**
 * What has been spent in this browser, charged before anything leaves.
 *
 * Every charge is one transaction of IndexedDB that is on the disk before `charge` returns, so a
 * tab that dies between charge and send may count a release that never left, and can never forget
 * one that did. Two tabs charge one after the other. Amounts are whole billionths of ε, rounded
 * up: a sum of floats could drift below the truth.
 *
 * A browser is not a safe: who clears the site's data clears the ledger with it. `keep` asks the
 * browser not to do so on its own.
 */
import { checkNumber } from "./checks.ts";
import { inTransaction, openDatabase, type DatabaseOptions } from "./database.ts";
import { BudgetSpent, InvalidInput, LedgerError, Missing, SfumatoError } from "./errors.ts";
import { historyOf, withCharge, type ChargeEntry } from "./ledger-history.ts";
import { Composition, DELTA, type PrivateAnswers } from "./privacy/accounting.ts";
import { answersOf, type PrivacyEvent } from "./privacy/event.ts";
import { asWritten } from "./privacy/odds.ts";

const BILLION = 1_000_000_000n;
const NAMES = ["descriptor", "picture", "session", "exact"] as const;

/** Limits on ε per descriptor, per picture and per session; left out: no limit. */
export interface Caps {
  readonly descriptor?: number | undefined;
  readonly picture?: number | undefined;
  readonly session?: number | undefined;
  /** A limit on what the session costs by exact composition: E at δ = 10⁻⁶. */
  readonly exact?: number | undefined;
}

/** The state of one session. */
export interface Spent {
  readonly session: string;
  readonly pictures: number;
  /** Descriptors that were sent. */
  readonly units: number;
  /** Σ N·ε. */
  readonly epsilon: number;
  /** Releases without any guarantee; no ε can count them. */
  readonly unprotected: number;
  readonly caps: Caps;
  /** Of all answers but those without a guarantee. */
  readonly composition: Composition;
  /** What is left of the session's cap; null where it has none. */
  readonly remaining: number | null;
}

/** How a ledger is opened. */
export interface LedgerOptions extends DatabaseOptions {
  /** The name of the account, "default" where none is given. */
  readonly session?: string;
  /** May lower the caps of a session that exists, never raise them. */
  readonly caps?: Caps;
}

type Amounts = readonly (bigint | null)[];

interface Answers {
  readonly epsilon: bigint;
  readonly numValues: number | null;
  readonly subsetSize: number;
  readonly count: number;
}

interface Row {
  readonly session: string;
  readonly caps: Amounts;
  readonly pictures: number;
  readonly units: number;
  readonly spent: bigint;
  readonly unprotected: number;
  readonly answers: readonly Answers[];
  readonly history?: unknown;
}

/** The account of one session. Safe across tabs and workers. */
export class Ledger {
  readonly session: string;
  readonly #database: IDBDatabase;

  private constructor(database: IDBDatabase, session: string) {
    this.#database = database;
    this.session = session;
  }

  /** Open the account, made where it does not exist; LedgerError where nothing can be kept. */
  static async open(options: LedgerOptions = {}): Promise<Ledger> {
    const session = options.session ?? "default";
    if (typeof session !== "string" || session.length < 1 || session.length > 200) {
      throw new InvalidInput("session must be a name of 1 to 200 characters.");
    }
    const wanted = amountsOf(options.caps ?? {});
    const database = await asLedgerError(openDatabase(options));
    const ledger = new Ledger(database, session);
    await ledger.#change((row) => ({ ...row, caps: lowered(row, wanted) }));
    return ledger;
  }

  /** Record what a release is about to cost, or refuse. On disk when the promise is kept. */
  async charge(event: PrivacyEvent): Promise<void> {
    const row = charged(event);
    await this.#change((before) => {
      checkCaps(before, row, event);
      return {
        ...before,
        pictures: before.pictures + 1,
        units: before.units + event.numUnits,
        spent: before.spent + row.cost,
        unprotected: before.unprotected + (row.bare ? 1 : 0),
        answers: row.bare ? before.answers : added(before.answers, row.answers),
        history: withCharge(before.history, event),
      };
    });
  }

  /** What this session has spent so far. */
  async spent(): Promise<Spent> {
    const row = await this.#change((same) => same);
    const [descriptor, picture, session, exact] = row.caps.map((cap) => (cap === null ? undefined : amount(cap)));
    const epsilon = amount(row.spent);
    return {
      session: this.session,
      pictures: row.pictures,
      units: row.units,
      epsilon,
      unprotected: row.unprotected,
      caps: { descriptor, picture, session, exact },
      composition: compositionOf(row.answers),
      remaining: session === undefined ? null : Math.max(session - epsilon, 0),
    };
  }

  /** When what was charged, oldest first: the newest entries, which the account does not rest on. */
  async history(): Promise<readonly ChargeEntry[]> {
    return historyOf((await this.#change((same) => same)).history);
  }

  /**
   * Ask the browser not to remove this site's data when room is short. False: it may.
   *
   * Whatever it answers, a person who clears the site's data clears the ledger.
   */
  async keep(): Promise<boolean> {
    const storage = (globalThis.navigator as Navigator | undefined)?.storage as Partial<StorageManager> | undefined;
    return (await storage?.persist?.()) ?? false;
  }

  /** Let go of the database. */
  close(): void {
    this.#database.close();
  }

  #change(next: (row: Row) => Row): Promise<Row> {
    return asLedgerError(
      inTransaction<Row>(this.#database, "sessions", "readwrite", (objects, done, guarded) => {
        const request: IDBRequest<unknown> = objects.get(this.session);
        request.onsuccess = guarded(() => {
          const before = checkedRow(request.result, this.session);
          const after = next(before);
          if (after !== request.result) objects.put(after);
          done(after);
        });
      }),
    );
  }
}

async function asLedgerError<T>(work: Promise<T>): Promise<T> {
  try {
    return await work;
  } catch (error) {
    if (error instanceof Missing) {
      throw new LedgerError(
        `what leaves cannot be counted: ${error.message} Nothing was released. ` +
          "Use a normal window, or say explicitly that nothing is to be counted.",
      );
    }
    throw error instanceof SfumatoError ? error : new LedgerError("the ledger cannot be used; nothing was released.");
  }
}

function amountsOf(caps: Caps): Amounts {
  return NAMES.map((name) => {
    const value = caps[name];
    if (value === undefined) return null;
    if (!(checkNumber(`the ${name} cap`, value) > 0 && Number.isFinite(value))) {
      throw new InvalidInput(`the ${name} cap must be above 0 and finite, got ${value}; leave it out for no limit.`);
    }
    const { over, under } = asWritten(value);
    return (over * BILLION) / under; // rounded down: a cap is never exceeded by rounding
  });
}

function lowered(row: Row, wanted: Amounts): Amounts {
  return row.caps.map((old, i) => {
    const cap = wanted[i] ?? null;
    if (old !== null && cap !== null && cap > old) {
      throw new LedgerError(
        `the ${NAMES[i] ?? ""} cap of session "${row.session}" is ${amount(old)}; it can be lowered but not raised ` +
          `to ${amount(cap)}; use a new session.`,
      );
    }
    return cap ?? old;
  });
}

interface Charge {
  readonly perUnit: bigint;
  readonly cost: bigint;
  readonly bare: boolean;
  readonly answers: Answers;
}

function charged(event: PrivacyEvent): Charge {
  const [entry] = answersOf(event);
  new Composition(answersOf(event)); // refuses what cannot be counted
  const { over, under } = event.epsilon === null ? { over: 0n, under: 1n } : asWritten(event.epsilon);
  const perUnit = (over * BILLION + under - 1n) / under; // rounded up
  return {
    perUnit,
    cost: perUnit * BigInt(event.numUnits),
    bare: event.epsilon === null && event.numUnits > 0,
    answers: { epsilon: perUnit, numValues: entry?.numValues ?? null, subsetSize: event.subsetSize, count: event.numUnits },
  };
}

function checkCaps(before: Row, charge: Charge, event: PrivacyEvent): void {
  if (charge.bare && before.caps.some((cap) => cap !== null)) {
    throw new BudgetSpent(
      `the session "${before.session}" has a cap, and a ${event.mechanism} release has no guarantee that could be ` +
        "counted against it; nothing was released.",
    );
  }
  const wanted = [charge.perUnit, charge.cost, before.spent + charge.cost];
  wanted.forEach((want, i) => {
    const cap = before.caps[i] ?? null;
    if (cap === null || want <= cap) return;
    const left = cap > before.spent ? cap - before.spent : 0n;
    const already = i === 2 ? ` after ${amount(before.spent)} already spent; ${amount(left)} is left` : "";
    throw new BudgetSpent(
      `the cap per ${NAMES[i] ?? ""} is ε = ${amount(cap)}, this release would make it ${amount(want)}${already}; ` +
        "send less, use a smaller epsilon, or stop here. Nothing was released.",
    );
  });
  const exact = before.caps[3] ?? null;
  if (exact === null) return;
  const total = compositionOf(added(before.answers, charge.answers)).epsilon(DELTA);
  if (total > amount(exact)) {
    throw new BudgetSpent(
      `the cap of session "${before.session}" is E = ${amount(exact)} at δ = ${DELTA}, this release would make it ` +
        `${Number(total.toPrecision(6))}; send less, use a smaller epsilon, or stop here. Nothing was released.`,
    );
  }
}

function added(answers: readonly Answers[], more: Answers): Answers[] {
  const same = (one: Answers): boolean =>
    one.epsilon === more.epsilon && one.numValues === more.numValues && one.subsetSize === more.subsetSize;
  const count = more.count + answers.filter(same).reduce((sum, one) => sum + one.count, 0);
  return count === 0 ? [...answers] : [...answers.filter((one) => !same(one)), { ...more, count }];
}

function compositionOf(answers: readonly Answers[]): Composition {
  return new Composition(answers.map((one): PrivateAnswers => ({ ...one, epsilon: amount(one.epsilon) })));
}

/** Billionths as a number for people and for the accounts. */
function amount(billionths: bigint): number {
  return Number(billionths) / 1e9;
}

/** The stored account, or an empty one; what disagrees with itself is refused. */
function checkedRow(stored: unknown, session: string): Row {
  if (stored === undefined) {
    return { session, caps: [null, null, null, null], pictures: 0, units: 0, spent: 0n, unprotected: 0, answers: [] };
  }
  const row = stored as Row;
  try {
    const spent = row.answers.reduce((sum, one) => sum + one.epsilon * BigInt(one.count), 0n);
    const units = row.answers.reduce((sum, one) => sum + one.count, 0);
    const capped = row.caps.length === 4 && row.caps.every((cap) => cap === null || typeof cap === "bigint");
    const whole = capped && spent === row.spent && units <= row.units && row.pictures >= row.unprotected;
    compositionOf(row.answers);
    if (whole) return row;
  } catch {
    // told below
  }
  throw new LedgerError(
    "the ledger is damaged: it disagrees with itself; nothing was released. Treat its budget as spent.",
  );
}
