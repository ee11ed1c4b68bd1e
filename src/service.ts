/**
 * `sealdex/wire`, for Sealdex's own service: internal, and changed without notice. The JSON of the HTTP interface, and what
 * the service shares with the library.
 */

export * from "./wire.js";
export { invalid } from "./check-input.js";
export { forLoader } from "./encrypted-index/for-loader.js";
export { type ResultSettings, served, type ServedIndex } from "./served-index.js";
export { unknownName } from "./option-names.js";
export { onBehalfOf, yieldIfDue } from "./threads/yield-to-event-loop.js";
