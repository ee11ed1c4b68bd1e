/**
 * The index that is open in this tab. Its key is held by the client of the library, in memory alone, and sent to the service with
 * each request, as any client does; it is never stored.
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

export const opened = signal<Opened | undefined>(undefined);

/** Throws `SealdexError`. */
export async function openIndex(indexName: string, indexKey: string): Promise<void> {
  const index = await newClient().loadIndex({ indexName, indexKey });
  const [description, count] = await Promise.all([index.describe(), index.count()]);
  if (isSignedIn.value) opened.value = { index, description, count };
}

export function closeIndex(): void {
  opened.value = undefined;
  chosenId.value = "";
}

effect(() => {
  if (!isSignedIn.value) closeIndex();
});
