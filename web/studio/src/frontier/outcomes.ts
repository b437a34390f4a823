/** The outcome file of `sfumato experiment frontier`: one JSON object to a line, perhaps cut in the middle. */

/** One way to send a picture: filters, then a mechanism. */
export interface Way {
  readonly kind: string;
  /** Per descriptor; ∞ for words without noise, null where there is none. */
  readonly epsilon: number | null;
  readonly numWords: number | null;
  readonly subsetSize: number | null;
  readonly dimension: number | null;
  readonly dither: number;
  readonly own: string | null;
  readonly keep: number | null;
  readonly cap: number | null;
  readonly isSuppressed: boolean;
}

/** The best that any attack made of a picture. */
export interface Attack {
  readonly name: string;
  readonly ssim: number;
  /** SSIM of a grey picture, which needs no release. */
  readonly grey: number;
}

/** One query, sent one way, one draw. */
export interface Outcome {
  readonly way: Way;
  readonly query: string;
  readonly numKeypoints: number;
  /** E of this picture at δ = 10⁻⁶; null where nothing is promised. */
  readonly picture: number | null;
  /** The advantage for an object that ten descriptors see; null where nothing is promised. */
  readonly object: number | null;
  readonly isLocalized: boolean;
  readonly isWrong: boolean;
  readonly attack: Attack | null;
}

/** What the outcomes are about. */
export interface Head {
  readonly data: string;
  readonly images: number;
  readonly points: number;
  readonly queries: readonly string[];
  readonly within: string;
  readonly mostKeypoints: number;
}

/** A file, as far as it is whole. */
export interface Outcomes {
  readonly head: Head;
  readonly outcomes: readonly Outcome[];
  /** What is missing or damaged, one sentence each. */
  readonly missing: readonly string[];
}

export class NotOutcomes extends Error {
  override name = "NotOutcomes";
}

const LARGEST = 1 << 26;
const FORMAT = 1;

/** The text of a file, unpacked if it is packed; of a packed file that is cut, what can be unpacked. */
export async function textOf(file: Blob): Promise<{ text: string; isCut: boolean }> {
  if (file.size > LARGEST) throw new NotOutcomes("This file is larger than 64 MiB; an outcome file of “sfumato experiment frontier” is far smaller.");
  const start = new Uint8Array(await file.slice(0, 2).arrayBuffer());
  if (start[0] !== 0x1f || start[1] !== 0x8b) return { text: await file.text(), isCut: false };
  const reader = file.stream().pipeThrough(new DecompressionStream("gzip")).getReader();
  const decoder = new TextDecoder();
  let text = "";
  try {
    for (;;) {
      const { done, value } = await reader.read();
      if (done) return { text: text + decoder.decode(), isCut: false };
      text += decoder.decode(value, { stream: true });
      if (text.length > LARGEST) {
        await reader.cancel();
        throw new NotOutcomes("This file unpacks to more than 64 MiB; an outcome file of “sfumato experiment frontier” is far smaller.");
      }
    }
  } catch (error) {
    if (error instanceof NotOutcomes) throw error;
    return { text, isCut: true };
  }
}

/** Everything that is whole in a text, and sentences on what is not. */
export function readOutcomes(text: string, isCut = false): Outcomes {
  const lines = text.split("\n");
  const last = lines.pop() ?? "";
  if (last.trim() !== "") lines.push(last);
  const head = headOf(parsed(lines[0] ?? ""));
  const found = new Map<string, Outcome>();
  let damaged = 0;
  lines.slice(1).forEach((line) => {
    if (line.trim() === "") return;
    const outcome = outcomeOf(parsed(line));
    if (outcome === null) damaged++;
    else found.set(outcome[0], outcome[1]);
  });
  const missing: string[] = [];
  const torn = last.trim() !== "" && outcomeOf(parsed(last)) === null;
  if (torn || isCut) missing.push("The file is cut in the middle; what comes before the cut is shown.");
  const others = damaged - (torn ? 1 : 0);
  if (others > 0) missing.push(`${others.toLocaleString("en")} ${others === 1 ? "line is" : "lines are"} damaged and left out.`);
  return { head, outcomes: [...found.values()], missing };
}

/** A line as Python writes it: it may hold Infinity, which JSON does not know. */
function parsed(line: string): unknown {
  try {
    return JSON.parse(line.replace(/"(?:[^"\\]|\\.)*"|-?Infinity|NaN/g, (token) => (token.startsWith('"') ? token : `"${token}"`)));
  } catch {
    return null;
  }
}

type Fields = Record<string, unknown>;

function fieldsOf(value: unknown): Fields | null {
  return typeof value === "object" && value !== null && !Array.isArray(value) ? (value as Fields) : null;
}

function headOf(value: unknown): Head {
  const head = fieldsOf(value);
  if (head?.["kind"] !== "frontier") {
    throw new NotOutcomes("This is no outcome file of “sfumato experiment frontier”: its first line does not say so. Choose its outcomes.jsonl.");
  }
  if (head["format"] !== FORMAT) {
    throw new NotOutcomes(`This outcome file has format ${JSON.stringify(head["format"]).slice(0, 20)}, this page reads format ${FORMAT}; update the older side.`);
  }
  const queries = Array.isArray(head["queries"]) ? (head["queries"] as unknown[]).filter((name) => typeof name === "string") : [];
  if (queries.length === 0) throw new NotOutcomes("This outcome file names no queries: its first line is damaged.");
  return {
    data: text(head["data"]) ?? "unnamed data", images: number(head["images"]) ?? 0, points: number(head["points"]) ?? 0,
    queries, within: text(head["within"]) ?? "the limit", mostKeypoints: number(head["most_keypoints"]) ?? 0,
  };
}

function outcomeOf(value: unknown): readonly [key: string, Outcome] | null {
  const line = fieldsOf(value);
  const given = fieldsOf(line?.["way"]);
  if (line === null || given === null || line["kind"] !== "outcome") return null;
  const [kind, query, keypoints] = [text(given["kind"]), text(line["query"]), number(line["num_keypoints"])];
  if (kind === null || query === null || keypoints === null || typeof line["is_localized"] !== "boolean") return null;
  const way: Way = {
    kind, epsilon: number(given["epsilon"]), numWords: number(given["num_words"]), subsetSize: number(given["subset_size"]),
    dimension: number(given["dimension"]), dither: number(given["dither"]) ?? 0, own: text(given["own"]), keep: number(given["keep"]),
    cap: number(given["cap"]), isSuppressed: given["is_suppressed"] === true,
  };
  const attack = fieldsOf(line["attack"]);
  const [ssim, grey] = [number(attack?.["ssim"]), number(attack?.["grey"])];
  return [JSON.stringify([given, line["seed"], query]), {
    way, query, numKeypoints: keypoints, picture: number(line["picture"]), object: number(line["object"]),
    isLocalized: line["is_localized"], isWrong: line["is_wrong"] === true,
    attack: attack === null || ssim === null || grey === null ? null : { name: text(attack["name"]) ?? "an attack", ssim, grey },
  }];
}

function number(value: unknown): number | null {
  if (value === "Infinity") return Infinity;
  return typeof value === "number" && Number.isFinite(value) ? value : null;
}

function text(value: unknown): string | null {
  return typeof value === "string" ? value.slice(0, 300) : null;
}
