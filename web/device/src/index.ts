/**
 * Private image features made in the browser: the photograph stays in the tab.
 *
 * `Client` asks a server; `Device` makes releases and sends nothing; the rest is what they are made of.
 */
export { CAMERA_MODELS, USUAL_FIELD_OF_VIEW, checkPossible, guessCamera, scaleCamera } from "./camera.ts";
export type { Camera, CameraModel } from "./camera.ts";
export { Client } from "./client/client.ts";
export type { ClientSettings, Outcome } from "./client/client.ts";
export { readAnswer } from "./client/answers.ts";
export type { Advice, Inliers, Localization, MapInfo, MapPoints, Pose, PoseError, WordsInfo } from "./client/answers.ts";
export type { Patience, ServerOptions } from "./client/ask.ts";
export type { Waiting } from "./client/outbox.ts";
export type { Choice } from "./client/plan.ts";
export { preparedFrom } from "./client/prepared.ts";
export type { Prepared } from "./client/prepared.ts";
export type { DatabaseOptions } from "./database.ts";
export { Device } from "./device.ts";
export type { DeviceSettings } from "./device.ts";
export { Dictionary, dictionaryFromTar } from "./dictionary/dictionary.ts";
export type { DictionaryArrays, Words } from "./dictionary/dictionary.ts";
export { Engine } from "./engine.ts";
export type { EngineSettings, ProtectedBytes, ProtectRequest } from "./engine.ts";
export * from "./errors.ts";
export { filterFeatures } from "./filters.ts";
export type { Box, FilterSettings } from "./filters.ts";
export { Ledger } from "./ledger.ts";
export type { Caps, LedgerOptions, Spent } from "./ledger.ts";
export { MOST_HISTORY, sessionNames } from "./ledger-history.ts";
export type { ChargeEntry } from "./ledger-history.ts";
export type { Limits } from "./limits.ts";
export { loadNative } from "./native.ts";
export { WordSearch } from "./nearest.ts";
export { mostInWindow, seenBy } from "./objects.ts";
export { DEFAULT_MAX_PIXELS, openPicture } from "./picture.ts";
export type { ImageSource, Opened } from "./picture.ts";
export { Composition, DELTA } from "./privacy/accounting.ts";
export type { PrivateAnswers } from "./privacy/accounting.ts";
export { NOT_PROTECTED, SMALL_OBJECT, costOf, eventOf, subsetEvent } from "./privacy/event.ts";
export type { Cost, PrivacyEvent } from "./privacy/event.ts";
export { chanceOf, subsetCoin } from "./privacy/odds.ts";
export type { Coin } from "./privacy/odds.ts";
export { SecureRandom, WordSource } from "./privacy/randomness.ts";
export type { RandomSource } from "./privacy/randomness.ts";
export { SubsetMechanism } from "./privacy/subset.ts";
export { protect } from "./protect.ts";
export type { Recipe, Tools } from "./protect.ts";
export { MAX_SIFT_PIXELS, Sift } from "./sift.ts";
export type { SiftOptions } from "./sift.ts";
export type { Extractor, Features, NearestWords, Picture, Progress } from "./types.ts";
export type {
  CandidateRelease,
  CodeRelease,
  KeypointFields,
  KeypointRelease,
  PlainRelease,
  Release,
  SubspaceRelease,
  WordRelease,
} from "./wire/releases.ts";
export { decode, encode } from "./wire/wire.ts";
