/** Files that reads which begin together open once: to open and close one takes longer than to read a part of it. */

import { type FileHandle, open } from "node:fs/promises";
import { timers } from "../real-timers.js";

interface Shared {
  readonly file: Promise<FileHandle>;
  readers: number;
}

export class SharedReads {
  /** Not opened yet. What is read later opens the file again, which may be another one of that name by then. */
  readonly #waiting = new Map<string, Shared>();

  /** Calls `use` with the file, opened after this call. Throws what `open` does. */
  async read<T>(name: string, use: (file: FileHandle) => Promise<T>): Promise<T> {
    const shared = this.#waiting.get(name) ?? this.#share(name);
    shared.readers++;
    const file = await shared.file;
    try {
      return await use(file);
    } finally {
      shared.readers--;
      if (shared.readers === 0) await file.close();
    }
  }

  #share(name: string): Shared {
    const file = new Promise<FileHandle>((resolve) => {
      timers.nextTick(() => {
        this.#waiting.delete(name);
        resolve(open(name, "r"));
      });
    });
    const shared = { file, readers: 0 };
    this.#waiting.set(name, shared);
    return shared;
  }
}
