/**
 * The index that is open in this tab. Its key is held in memory alone, and sent to the service with each request, as any
 * client does; it is never stored.
 */

import { effect, signal } from "@preact/signals";
import type { IndexDescription, VectorIndex } from "sealdex/client";
import { isSignedIn, newClient } from "../session.js";
import { chosenId } from "./similar-link.js";

export interface Opened {
  readonly index: VectorIndex;
  readonly description: IndexDescription;
  readonly count: number;
}

let indexKey = "";
export const opened = signal<Opened | undefined>(undefined);

/** Throws `SealdexError`. */
export async function openIndex(indexName: string, key: string): Promise<void> {
  const index = await newClient().loadIndex({ indexName, indexKey: key });
  const [description, count] = await Promise.all([index.describe(), index.count()]);
  if (!isSignedIn.value) return;
  indexKey = key;
  opened.value = { index, description, count };
}

/** Throws `SealdexError`. */
export async function deleteOpened(): Promise<void> {
  const indexName = opened.value?.index.indexName;
  if (indexName === undefined) return;
  await newClient().deleteIndex({ indexName, indexKey });
  closeIndex();
}

export function closeIndex(): void {
  opened.value = undefined;
  indexKey = "";
  chosenId.value = "";
}

effect(() => {
  if (!isSignedIn.value) closeIndex();
});
