/** The camera: on only while its picture is seen, off when the page goes to the background. */

import { readFrame, type Taken } from "./picture.ts";

export class Camera {
  #stream: MediaStream | null = null;
  readonly #video: HTMLVideoElement;

  constructor(video: HTMLVideoElement) {
    this.#video = video;
  }

  get isOn(): boolean {
    return this.#stream !== null;
  }

  /** Ask for the camera and show what it sees. */
  async start(): Promise<void> {
    this.stop();
    // Old browsers and pages without TLS have none.
    const devices = navigator.mediaDevices as MediaDevices | undefined;
    if (devices === undefined) {
      throw new Error("a browser gives its camera to https pages only; choose a file, or open this page over https.");
    }
    try {
      this.#stream = await devices.getUserMedia({
        audio: false,
        video: { facingMode: { ideal: "environment" }, width: { ideal: 1280 }, height: { ideal: 960 } },
      });
    } catch (error) {
      throw new Error(whyNoCamera(error));
    }
    this.#video.srcObject = this.#stream;
    await this.#video.play();
  }

  stop(): void {
    for (const track of this.#stream?.getTracks() ?? []) track.stop();
    this.#stream = null;
    this.#video.srcObject = null;
  }

  /** The frame that is seen now. */
  take(maxPixels: number): Promise<Taken> {
    return readFrame(this.#video, maxPixels);
  }
}

function whyNoCamera(error: unknown): string {
  const name = error instanceof DOMException ? error.name : "";
  if (name === "NotAllowedError") {
    return "the camera was denied; allow it in the browser's settings for this page, or choose a file.";
  }
  if (name === "NotFoundError" || name === "OverconstrainedError") return "no camera was found; choose a file.";
  if (name === "NotReadableError") return "another program uses the camera; close it, or choose a file.";
  return "the camera did not start; choose a file.";
}
