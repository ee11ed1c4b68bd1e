/**
 * Encrypted search and memory for the AI SDK.
 *
 * @module sealdex-ai
 */

export type { Knowledge, KnowledgeStore, Passage, SearchOptions } from "./knowledge.js";
export { recallMiddleware } from "./recall-middleware.js";
export { type RememberOptions, rememberTool } from "./remember-tool.js";
export { searchTool, type SearchToolOptions } from "./search-tool.js";
