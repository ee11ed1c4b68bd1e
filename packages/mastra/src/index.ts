/**
 * Sealdex as a vector store of Mastra.
 *
 * @module sealdex-mastra
 */

export { SealdexVector, type SealdexVectorConfig } from "./sealdex-vector.js";
