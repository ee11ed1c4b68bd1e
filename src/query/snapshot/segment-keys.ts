import type { SegmentRef } from "../../state/commit/manifest.js";
import type { Namespace } from "../../state/commit/namespaces.js";
import type { ParentKeys } from "../../crypto/sealed-object.js";
import type { IndexConfig } from "../../engine/config.js";

/** Whose objects segments and models are, and how their rows are encoded. */
export interface ObjectOwner {
  readonly indexId: Uint8Array;
  readonly keys: { readonly data: ParentKeys };
  readonly config: IndexConfig;
  /** By their ids. */
  readonly namespaces: { byId(id: string): Promise<Pick<Namespace, "name" | "keys">> };
}

/** The keys that seal a segment. Throws `missing_object` if its namespace was erased. */
export async function keysOfSegment(
  { keys, namespaces }: Pick<ObjectOwner, "keys" | "namespaces">,
  { namespace }: Pick<SegmentRef, "namespace">,
): Promise<ParentKeys> {
  return namespace === undefined ? keys.data : (await namespaces.byId(namespace)).keys;
}
