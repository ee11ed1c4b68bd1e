/** A tool with which a language model searches stored texts. */

import { type Tool, tool } from "ai";
import { z } from "zod";
import { asData } from "./as-data.js";
import {
  checkOptions,
  findPassages,
  type Knowledge,
  type Passage,
  searchNames,
  type SearchOptions,
} from "./knowledge.js";

export interface SearchToolOptions extends SearchOptions {
  /** Tells the language model which texts it can find. Default: stored knowledge and memories. */
  readonly description?: string | undefined;
}

const inputSchema = z.object({
  query: z.string().min(1).max(2000).describe("A question or a statement"),
});

/**
 * A tool that finds passages by meaning. Its output, for the application, is the passages; the
 * model gets them marked as data. It chooses the question alone.
 */
export function searchTool(
  knowledge: Knowledge,
  options: SearchToolOptions = {},
): Tool<z.infer<typeof inputSchema>, Passage[]> {
  checkOptions(knowledge, options, [...searchNames, "description"]);
  const { description = "Finds stored knowledge and memories by their meaning.", ...search } = options;
  return tool({
    description,
    inputSchema,
    execute: ({ query }, { abortSignal }) => findPassages(knowledge, query, search, abortSignal),
    toModelOutput: ({ output }) => ({
      type: "text",
      value: output.length === 0 ? "Nothing was found." : asData(output),
    }),
  });
}
