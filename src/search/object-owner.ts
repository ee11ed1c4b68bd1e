import type { Namespace } from "../commit/namespaces.js";
import type { ParentKeys } from "../crypto/sealed-object.js";
import type { IndexConfig } from "../engine/config.js";

/** Whose objects segments and models are, and how their rows are encoded. */
export interface ObjectOwner {
  readonly indexId: Uint8Array;
  readonly keys: { readonly data: ParentKeys };
  readonly config: IndexConfig;
  /** By their ids. */
  readonly namespaces: { byId(id: string): Promise<Pick<Namespace, "name" | "keys">> };
}
