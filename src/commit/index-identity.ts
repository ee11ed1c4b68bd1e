import type { IndexKeys } from "../crypto/keys.js";

/** Whose manifests and anchors they are, and with which key they were opened. */
export interface IndexIdentity {
  readonly indexName: string;
  readonly indexId: Uint8Array;
  readonly keys: IndexKeys;
  readonly keyGeneration: number;
}
