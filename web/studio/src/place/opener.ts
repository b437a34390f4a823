/** Opens places: hands files to a worker, and gathers them from what was chosen or dropped. */

import type { Work } from "../shell.ts";
import type { Model } from "./model.ts";
import { MOST_FILES, type FoundFile } from "./open.ts";
import type { Told } from "./place-worker.ts";
import { Unreadable } from "./problem.ts";

/** Read in a worker, which ends with the work. */
export function openPlace(files: readonly FoundFile[], work: Work): Promise<Model> {
  return new Promise((resolve, reject) => {
    const worker = new Worker(new URL("./place-worker.ts", import.meta.url), { type: "module" });
    const end = (): void => { worker.terminate(); };
    const stop = (): void => {
      end();
      reject(new DOMException("stopped", "AbortError"));
    };
    work.signal.addEventListener("abort", stop);
    const close = (): void => {
      work.signal.removeEventListener("abort", stop);
      end();
    };
    worker.onmessage = (event: MessageEvent<Told>) => {
      const told = event.data;
      if ("done" in told) {
        work.progress(told.done);
        return;
      }
      close();
      if ("model" in told) resolve(told.model);
      else reject(new Unreadable(told.problem));
    };
    worker.onerror = () => {
      close();
      reject(new Unreadable("The reader of places could not be started; load the page again."));
    };
    worker.postMessage(files);
  });
}

/** Files of an <input>, with their folder where one was chosen. */
export function chosenFiles(list: FileList): FoundFile[] {
  return Array.from(list, (file) => ({ path: file.webkitRelativePath === "" ? file.name : file.webkitRelativePath, file }));
}

/** Everything that was dropped, folders included. */
export async function droppedFiles(items: DataTransferItemList): Promise<FoundFile[]> {
  const entries = Array.from(items, (item) => item.webkitGetAsEntry()).filter((entry) => entry !== null);
  const found: FoundFile[] = [];
  const waiting: FileSystemEntry[] = [...entries];
  for (let entry = waiting.shift(); entry !== undefined; entry = waiting.shift()) {
    if (entry.isFile) {
      const file = await new Promise<File>((done, failed) => { (entry as FileSystemFileEntry).file(done, failed); });
      found.push({ path: entry.fullPath.replace(/^\//, ""), file });
    } else {
      const reader = (entry as FileSystemDirectoryEntry).createReader();
      for (;;) {
        const some = await new Promise<FileSystemEntry[]>((done, failed) => { reader.readEntries(done, failed); });
        if (some.length === 0) break;
        waiting.push(...some);
        if (found.length + waiting.length > MOST_FILES) {
          throw new Unreadable(`More than ${MOST_FILES.toLocaleString("en")} files were dropped; drop the folder of the place alone.`);
        }
      }
    }
  }
  return found;
}
