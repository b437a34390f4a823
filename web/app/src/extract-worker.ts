/** Keypoints are found in a worker of their own: the page shows them before anything is protected. */

import { errorMessage, loadNative, Sift, type ErrorMessage, type Features, type Picture } from "@sfumato/device";

/** What the page hears: how far it is, then the features or why there are none. */
export type FromExtractor =
  | { readonly id: number; readonly progress: number }
  | { readonly id: number; readonly features: Features }
  | { readonly id: number; readonly error: ErrorMessage };

export interface ToExtractor {
  readonly id: number;
  readonly picture: Picture;
}

const scope = globalThis as unknown as {
  onmessage: ((event: MessageEvent<ToExtractor>) => void) | null;
  postMessage(message: FromExtractor): void;
};
let sift: Promise<Sift> | null = null;

async function extract({ id, picture }: ToExtractor): Promise<void> {
  try {
    sift ??= loadNative().then((module) => new Sift(module));
    const features = (await sift).extract(picture, (progress) => { scope.postMessage({ id, progress }); });
    scope.postMessage({ id, features });
  } catch (error) {
    sift = null; // what could not be loaded may be there next time
    scope.postMessage({ id, error: errorMessage(error) });
  }
}

scope.onmessage = ({ data }) => { void extract(data); };
