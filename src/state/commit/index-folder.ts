/**
 * Where the objects of an index lie. They are named `index/<id>/…`, in manifests and in their authenticated data, whatever the index
 * is called; their keys are `index/<index name>/<id>/…`, so that a process that knows no more than the name can list them while
 * it reads the record, which has the id.
 */

import { requested } from "../../async/profile.js";
import { own } from "../../checks/value-kinds.js";
import { SealdexError } from "../../errors.js";
import type { KeyRing } from "../../keys/key-ring.js";
import { withAbsenceCheckOf } from "../../storage/absence.js";
import type { BlobStore, ByteRange } from "../../storage/blob-store.js";
import { type Clock, type Instant, instant } from "./clock.js";
import { folderPrefix, indexesPrefix } from "./object-names.js";

/** More than any part of an object, and as much as a driver has to read. */
const rangeBytesMax = 2 ** 30;
/** Names that are listed when an index is opened. */
const listedMax = 100;

/** Objects listed below the name of an index. */
export interface ListedObjects {
  readonly names: readonly string[];
  /** When the list was requested. */
  readonly at: Instant;
}

/** The part of `store` for the indexes that have had this name. Its keys are names of objects. */
export function openFolder(store: BlobStore, indexName: string): BlobStore {
  const folder = folderPrefix(indexName);
  const keyOf = (name: string) => folder + name.slice(indexesPrefix.length);
  const inFolder: BlobStore = {
    read: (name, range, options) =>
      isPart(range)
        ? requested(store.read(keyOf(name), range, options), (bytes) => bytes?.length ?? 0)
        : Promise.reject(noPart(name, range)),
    create: (name, bytes, options) => store.create(keyOf(name), bytes, options),
    async list(prefix, given = {}) {
      const options = own(given);
      const { after } = options;
      const listed = store.list(
        keyOf(prefix),
        own({ ...options, ...(after !== undefined && { after: keyOf(after) }) }),
      );
      const keys = await requested(listed, () => 0);
      return keys.map((key) => indexesPrefix + key.slice(folder.length));
    },
    delete: (names, options) => store.delete(names.map(keyOf), options),
    close: () => store.close(),
  };
  return withAbsenceCheckOf(inFolder, store, keyOf);
}

/**
 * Lists the first objects of the indexes that have had this name, before the record with the id is read. The newest manifest is among
 * them, unless many older indexes of the name have left objects.
 */
export async function listFolder(
  configStore: BlobStore,
  indexName: string,
  clock: Clock,
): Promise<ListedObjects> {
  const at = instant(clock);
  return { names: await openFolder(configStore, indexName).list(indexesPrefix, { limit: listedMax }), at };
}

/** Lengths come from stored bytes, which the holder of a key may have made up. */
function isPart({ offset, length }: ByteRange): boolean {
  const areNumbers = Number.isSafeInteger(offset) && Number.isSafeInteger(length);
  return areNumbers && offset >= 0 && length >= 0 && length <= rangeBytesMax;
}

function noPart(name: string, { offset, length }: ByteRange): SealdexError {
  return new SealdexError(
    "corrupt",
    `stored object ${name}: expected parts of at most ${rangeBytesMax} bytes, got one of ${length} from ${offset}`,
  );
}

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
