/**
 * An encrypted checkpointer and an encrypted store for LangGraph. Needs `@langchain/langgraph-checkpoint`, which comes with it.
 *
 * @module sealdex/langgraph
 */

export { EncryptedSaver, type EncryptedSaverArgs } from "./encrypted-saver.js";
export { EncryptedStore, type EncryptedStoreArgs, type SemanticIndex } from "./encrypted-store.js";
