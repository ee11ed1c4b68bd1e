/**
 * Groups of items, each under secrets of its own, which an embedded index keeps for the LangGraph saver. A group's contents are sealed by
 * one of its secrets before they are stored; erasing the group destroys its secrets. Not public.
 */

import type { Filter } from "./filter/compile.js";
import type { Item } from "./items.js";

export const itemGroups: unique symbol = Symbol.for("sealdex.itemGroups");

export interface GroupSecret {
  /** Random; the metadata of items name it. */
  readonly id: string;
  readonly stored: Promise<void>;
  seal(itemId: string, plaintext: Uint8Array): Uint8Array;
  /** Throws `corrupt` unless this secret sealed the contents for the item. */
  open(itemId: string, sealed: Uint8Array): Uint8Array;
}

export interface GroupUpsert {
  readonly namespace: string;
  readonly secret: GroupSecret;
  /** The result of `erasures` when the secret was known to be in use, or was drawn. */
  readonly erasures: number;
}

export interface GroupErasure {
  readonly namespace: string;
  /** Items to delete. */
  readonly filter: Filter;
  /** An item that is stored while secrets may remain, and names them. */
  readonly marker: Item;
  readonly secrets: readonly string[];
}

export interface ItemGroups {
  /** How many erasures there have been in the state that is known here. */
  erasures(): Promise<number>;
  /** Reads the newest state: later reads show every change that was acknowledged before. */
  refresh(): Promise<void>;
  draw(): GroupSecret;
  /** Undefined if it was destroyed. The state that is known here is then one without its items. */
  read(id: string): Promise<GroupSecret | undefined>;
  /** False, and nothing is stored, if something was erased meanwhile: perhaps the group, and its secret. */
  upsert(items: readonly Item[], group: GroupUpsert): Promise<boolean>;
  /**
   * Deletes the items in one commit, after which no `upsert` commits that began before, then the secrets, then the marker. After an
   * interruption the same call does the rest.
   */
  erase(erasure: GroupErasure): Promise<void>;
}

/** An index that may have groups: one over HTTP has none. */
export interface MayHaveGroups {
  [itemGroups]?(): ItemGroups;
}
