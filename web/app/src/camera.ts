/** The camera: on only while its picture is seen, off when the page goes to the background. */

import { readFrame, type Taken } from "./picture.ts";

export class Camera {
  #stream: MediaStream | null = null;
  /** How often it was started or stopped: a stream that comes too late is not taken. */
  #turns = 0;
  readonly #video: HTMLVideoElement;

  constructor(video: HTMLVideoElement) {
    this.#video = video;
  }

  get isOn(): boolean {
    return this.#stream !== null;
  }

  /** Ask for the camera and show what it sees; false where it was stopped, or asked for again, before it came. */
  async start(): Promise<boolean> {
    this.stop();
    const turn = this.#turns;
    // Old browsers and pages without TLS have none.
    const devices = navigator.mediaDevices as MediaDevices | undefined;
    if (devices === undefined) {
      throw new Error("a browser gives its camera to https pages only; choose a file, or open this page over https.");
    }
    try {
      const stream = await devices.getUserMedia({
        audio: false,
        video: { facingMode: { ideal: "environment" }, width: { ideal: 1280 }, height: { ideal: 960 } },
      });
      if (turn !== this.#turns) {
        switchOff(stream);
        return false;
      }
      this.#stream = this.#video.srcObject = stream;
      await this.#video.play();
    } catch (error) {
      if (turn !== this.#turns) return false;
      this.stop();
      throw new Error(whyNoCamera(error));
    }
    return true;
  }

  stop(): void {
    this.#turns++;
    if (this.#stream !== null) switchOff(this.#stream);
    this.#stream = null;
    this.#video.srcObject = null;
  }

  /** The frame that is seen now. */
  take(maxPixels: number): Promise<Taken> {
    return readFrame(this.#video, maxPixels);
  }
}

function switchOff(stream: MediaStream): void {
  for (const track of stream.getTracks()) track.stop();
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
