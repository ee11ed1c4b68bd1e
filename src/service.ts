/**
 * `sealdex/wire`, for Sealdex's own service: internal, may change without notice. The JSON of the
 * HTTP interface, and code that the service shares with the library.
 */

export * from "./wire.js";
export { invalid } from "./check-input.js";
export { type ResultSettings, served, type ServedIndex } from "./served-index.js";
export { unknownName } from "./option-names.js";
export { onBehalfOf, yieldIfDue } from "./threads/yield-to-event-loop.js";
