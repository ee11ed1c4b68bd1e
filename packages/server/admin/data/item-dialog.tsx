/** One item in full: tables cut long contents and metadata. */

import { signal } from "@preact/signals";
import type { Metadata } from "sealdex/client";
import { formatTime } from "../format.js";
import { Modal } from "../modal.js";

interface ShownItem {
  readonly id: string;
  readonly namespace?: string;
  readonly contents?: string;
  readonly metadata?: Metadata;
  readonly expiresAt?: Date;
}

const shown = signal<ShownItem | undefined>(undefined);

/** The id of an item, which shows all of it. */
export function ItemId({ item }: { readonly item: ShownItem }) {
  return (
    <button
      type="button"
      class="link"
      onClick={() => {
        shown.value = item;
      }}
    >
      <code>{item.id}</code>
    </button>
  );
}

export function ItemDialog() {
  const item = shown.value;
  if (item === undefined) return null;
  return (
    <Modal
      title={item.id}
      onClose={() => {
        shown.value = undefined;
      }}
    >
      {item.namespace !== undefined && <p>Namespace {item.namespace}</p>}
      {item.expiresAt !== undefined && <p>Expires {formatTime(item.expiresAt.getTime())}</p>}
      <p class="whole">{item.contents ?? "No contents."}</p>
      <pre tabIndex={0}>{JSON.stringify(item.metadata, undefined, 2)}</pre>
      <form method="dialog">
        <button type="submit">Close</button>
      </form>
    </Modal>
  );
}
