/** A tool with which a language model stores texts for later. */

import { createHash } from "node:crypto";
import { type Tool, tool } from "ai";
import type { Metadata } from "sealdex/core";
import { z } from "zod";
import { addText, checkOptions, type Knowledge, placeNames, type PlaceOptions } from "./knowledge.js";

export interface RememberOptions extends PlaceOptions {
  /** Metadata of every text that is stored, besides `rememberedAt`. */
  readonly metadata?: Metadata | undefined;
  /** Tells the language model when to remember. Default: facts that are useful in later conversations. */
  readonly description?: string | undefined;
}

const inputSchema = z.object({
  text: z.string().trim().min(1).max(10_000).describe("One fact, understandable without its conversation"),
});

/**
 * A tool that stores a text, with the time as `rememberedAt` in its metadata. Its id comes from the
 * text: a text that is remembered again, or by a repeated call, is stored once.
 */
export function rememberTool(
  knowledge: Knowledge,
  options: RememberOptions = {},
): Tool<z.infer<typeof inputSchema>, { readonly id: string }> {
  checkOptions(knowledge, options, [...placeNames, "metadata", "description"]);
  const {
    description = "Remembers a fact that is useful in later conversations.",
    metadata = {},
    ...place
  } = options;
  if (Object.prototype.toString.call(metadata) !== "[object Object]")
    throw new TypeError("metadata: expected an object");
  return tool({
    description,
    inputSchema,
    execute: async ({ text }, { abortSignal }) => {
      const id = `memory-${createHash("sha256").update(text).digest("hex").slice(0, 32)}`;
      const dated = { ...metadata, rememberedAt: new Date().toISOString() };
      await addText(knowledge, { id, text, metadata: dated }, place, abortSignal);
      return { id };
    },
  });
}
