/** All that the page does with pictures and servers, on top of the device package. */

import {
  cachedDictionary,
  checkLeaving,
  Composition,
  costOf,
  decode,
  Device,
  dictionaryFromTar,
  filterFeatures,
  keepDictionary,
  Ledger,
  Mismatch,
  Outbox,
  readAnswer,
  readMaps,
  Server,
  SubsetMechanism,
  type Camera,
  type Dictionary,
  type Features,
  type FilterSettings,
  type Localization,
  type MapInfo,
  type Picture,
  type Progress,
  type WordRelease,
} from "@sfumato/device";
import type { Box } from "./boxes.ts";
import { Extractor } from "./extractor.ts";
import type { Vector } from "./place.ts";
import type { Cost } from "./sentences.ts";
import type { Chosen } from "./settings.ts";
