export type { Extractor, Features, NearestWords, Picture, Progress } from "./types.ts";
