/** A release that was drawn and charged. Send it as often as needed; it costs nothing more. */
import { InvalidInput } from "../errors.ts";
import { costOf, type Cost } from "../privacy/event.ts";
import type { KeypointRelease } from "../wire/releases.ts";
import { decode } from "../wire/wire.ts";

/** The bytes that leave, and what they say. */
export interface Prepared {
  /** Exactly what is sent. */
  readonly data: Uint8Array<ArrayBuffer>;
  readonly release: KeypointRelease;
  readonly cost: Cost;
  /** True where the camera in it is a guess. */
  readonly cameraGuessed: boolean;
  /** Its name in the outbox, or null where it is in memory only. */
  readonly id: string | null;
}

/** A release from its bytes, as they were kept or come from a file. */
export function preparedFrom(data: Uint8Array<ArrayBuffer>, known: Partial<Prepared> = {}): Prepared {
  const release = known.release ?? decode(data);
  if (release.kind === "codes") throw new InvalidInput("a release of codes cannot be localized; it was not sent.");
  return {
    data,
    release,
    cost: known.cost ?? costOf(release, data.length),
    cameraGuessed: known.cameraGuessed ?? false,
    id: known.id ?? null,
  };
}
