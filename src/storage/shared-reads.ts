/**
 * Opens a file once for reads that start together: opening and closing takes longer than a short
 * read.
 */

import { timers } from "../real-timers.js";
import { openBlob, type OpenFile } from "./local-files.js";

interface Shared {
  readonly file: Promise<OpenFile>;
  readers: number;
}

export class SharedReads {
  /**
   * Files that are not open yet. Later reads open the name again, which may then be another file.
   */
  readonly #waiting = new Map<string, Shared>();

  /** Calls `use` with the file, opened after this call. Throws like `openBlob`. */
  async read<T>(name: string, use: (file: OpenFile) => Promise<T>): Promise<T> {
    const shared = this.#waiting.get(name) ?? this.#share(name);
    shared.readers++;
    const file = await shared.file;
    try {
      return await use(file);
    } finally {
      shared.readers--;
      if (shared.readers === 0) await file.handle.close();
    }
  }

  #share(name: string): Shared {
    const file = new Promise<OpenFile>((begin) => {
      timers.nextTick(() => {
        this.#waiting.delete(name);
        begin(openBlob(name));
      });
    });
    const shared = { file, readers: 0 };
    this.#waiting.set(name, shared);
    return shared;
  }
}
