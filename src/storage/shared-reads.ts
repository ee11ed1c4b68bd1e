/** Files that reads which begin together open once: to open and close one takes longer than to read a part of it. */

import { timers } from "../real-timers.js";
import { openBlob, type OpenFile } from "./local-files.js";

interface Shared {
  readonly file: Promise<OpenFile>;
  readers: number;
}

export class SharedReads {
  /** Not opened yet. What is read later opens the file again, which may be another one of that name by then. */
  readonly #waiting = new Map<string, Shared>();

  /** Calls `use` with the file, opened after this call. Throws what `openBlob` does. */
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
    const file = new Promise<OpenFile>((resolve) => {
      timers.nextTick(() => {
        this.#waiting.delete(name);
        resolve(openBlob(name));
      });
    });
    const shared = { file, readers: 0 };
    this.#waiting.set(name, shared);
    return shared;
  }
}
