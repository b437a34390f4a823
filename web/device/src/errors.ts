/**
 * Every error this package raises on purpose. A message says what is required, what came and what
 * to do; it never contains descriptors, coordinates or the name of a picture.
 *
 *     SfumatoError
 *     ├── InvalidInput            a value or an array does not meet its requirement
 *     │   ├── UnreadableImage     a picture that cannot be decoded
 *     │   ├── MalformedRelease    bytes that are not one valid release
 *     │   └── Mismatch            two things that do not belong together (extractor, dictionary)
 *     ├── Missing                 this browser, or this page, lacks something that is needed
 *     ├── NotPrivate              a release that may not leave the device
 *     ├── LedgerError             the ledger cannot be read or written; nothing was released
 *     │   └── BudgetSpent         the ledger refuses: the cap would be exceeded
 *     └── ServerError             the server did not do what it was asked
 *         ├── Unreachable         no answer in time; the same bytes can be sent again
 *         ├── Refused             the server said no, and why
 *         └── BadAnswer           an answer that cannot be true, or is not one at all
 */
import type { Prepared } from "./client/prepared.ts";

/** The root: catch this to catch everything that is refused on purpose. */
export class SfumatoError extends Error {
  override name = "SfumatoError";
}

/** A value or an array does not meet its stated requirement. */
export class InvalidInput extends SfumatoError {
  override name = "InvalidInput";
}

/** A picture that cannot be decoded in full. */
export class UnreadableImage extends InvalidInput {
  override name = "UnreadableImage";
}

/** Bytes that are not exactly one valid release. */
export class MalformedRelease extends InvalidInput {
  override name = "MalformedRelease";
}

/** Two things that do not belong together: another extractor, another dictionary. */
export class Mismatch extends InvalidInput {
  override name = "Mismatch";
}

/** This browser, or this page, lacks something that is needed. */
export class Missing extends SfumatoError {
  override name = "Missing";
}

/** A release that may not leave the device. */
export class NotPrivate extends SfumatoError {
  override name = "NotPrivate";
}

/** The ledger cannot be read or written; nothing was released. */
export class LedgerError extends SfumatoError {
  override name = "LedgerError";
}

/** The charge would exceed a cap; nothing was released. */
export class BudgetSpent extends LedgerError {
  override name = "BudgetSpent";
}

/** The server did not do what it was asked. */
export class ServerError extends SfumatoError {
  override name = "ServerError";
  /** The release that was to be sent; hand it to `send` again, which costs nothing more. */
  prepared: Prepared | null = null;
}

/** No answer within the deadline and the number of tries. */
export class Unreachable extends ServerError {
  override name = "Unreachable";
}

/** The server said no. */
export class Refused extends ServerError {
  override name = "Refused";
  /** The HTTP status. */
  readonly status: number;
  /** The server's short word for it, or "" where it gave none. */
  readonly code: string;

  constructor(message: string, status: number, code = "") {
    super(message);
    this.status = status;
    this.code = code;
  }
}

/** An answer that cannot be true, or is not one at all. */
export class BadAnswer extends ServerError {
  override name = "BadAnswer";
}

const KINDS = {
  SfumatoError,
  InvalidInput,
  UnreadableImage,
  MalformedRelease,
  Mismatch,
  Missing,
  NotPrivate,
  LedgerError,
  BudgetSpent,
  ServerError,
  Unreachable,
  BadAnswer,
};

/** An error as it travels between a worker and its page, which lose the class of an error. */
export interface ErrorMessage {
  readonly name: string;
  readonly message: string;
}

/** Name and sentence of an error. */
export function errorMessage(error: unknown): ErrorMessage {
  if (error instanceof Error) return { name: error.name, message: error.message };
  return { name: "Error", message: String(error) };
}

/** The error that `errorMessage` described, of its own class again. */
export function errorOf(told: ErrorMessage): Error {
  const Kind = Object.hasOwn(KINDS, told.name) ? KINDS[told.name as keyof typeof KINDS] : undefined;
  return Kind === undefined ? new Error(`${told.name}: ${told.message}`) : new Kind(told.message);
}
