import type { KeyRing } from "../keys/key-ring.js";

/** Whose manifests and anchors they are. */
export interface IndexIdentity {
  readonly indexName: string;
  readonly indexId: Uint8Array;
  readonly keys: KeyRing;
  /**
   * Takes over the keys of a generation that the owner of the index has drawn, if there is a record of it. Throws `wrong_index_key` if
   * this process was given none, `not_found` if the index was deleted.
   */
  renewKeys(generation: number): Promise<void>;
}
