/** Tells a sync about the files that change. */

import { relative, sep } from "node:path";
import type { Folder } from "./folder.js";
import type { FolderSync } from "./folder-sync.js";

/** Editors write a file in several steps. */
const quietMs = 300;

/** Resolves when changes are noticed, to a function that ends it. */
export async function watchFolder(
  folder: Folder,
  sync: FolderSync,
  log: (text: string) => void,
): Promise<() => Promise<void>> {
  const { default: watcher } = await import("@parcel/watcher");
  const changed = new Set<string>();
  let timer: NodeJS.Timeout | undefined;
  const report = () => {
    const paths = [...changed];
    changed.clear();
    void sync.update(paths);
  };
  const onEvents: Parameters<typeof watcher.subscribe>[1] = (error, events) => {
    if (error) log(`The folder cannot be watched: ${error.message}`);
    for (const { path } of events ?? []) {
      const inFolder = relative(folder.root, path).split(sep).join("/");
      const isHidden = /(^|\/)(\.(?!gitignore$)|node_modules\/)/.test(inFolder);
      if (!isHidden) changed.add(inFolder);
    }
    if (changed.size === 0) return;
    clearTimeout(timer);
    timer = setTimeout(report, quietMs);
  };
  const subscription = await watcher.subscribe(folder.root, onEvents, {
    ignore: ["**/node_modules/**", "**/.git/**"],
  });
  return async () => {
    clearTimeout(timer);
    await subscription.unsubscribe();
  };
}
