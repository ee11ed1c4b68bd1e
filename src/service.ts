/**
 * `sealdex/wire`, for Sealdex's own service: internal, may change without notice. The JSON of the
 * HTTP interface, and code that the service shares with the library.
 */

export * from "./client/wire/wire.js";
export { checkIdText, invalid } from "./checks/input.js";
export { compileFilter } from "./api/filter/compile.js";
export { asksForProfile, checkPartial, withProfile } from "./api/profiled-query.js";
export { type ResultSettings, served, type ServedIndex } from "./api/served-index.js";
export { unknownName } from "./checks/option-names.js";
export { timeMax } from "./checks/stored-json.js";
export { onBehalfOf, yieldIfDue } from "./async/event-loop.js";
export { Leaf } from "./index/collection/leaf.js";
export { createRouter } from "./index/collection/router.js";
export { createKeyFile } from "./keys/secret-providers.js";
export { decodeLine, itemOfFields, type VectorForm, withOwnNames } from "./api/transfer/item-line.js";
export { linesOf } from "./api/transfer/import-items.js";
export type { IngestItem } from "./api/transfer/ingest.js";
export { checkPeer, peerFailure, type PeerPackage } from "./checks/peer-package.js";
export { errorCodes, shiftPosition } from "./errors.js";
export { locationForms, parseLocation } from "./storage/parse-location.js";
export type { WordField } from "./api/vector-index.js";
export type { ModelOptions } from "./embedding/model-options.js";
export type { SearchShards, ShardAddress, ShardRow, ShardRows, ShardSearch } from "./query/shard-search.js";
