/** A middleware that adds stored passages to each prompt. */

import type { LanguageModelMiddleware } from "ai";
import { asData } from "./as-data.js";
import { checkOptions, findPassages, type Knowledge, searchNames, type SearchOptions } from "./knowledge.js";

/**
 * Searches for the text of the last message of the user, and puts the passages before it, in the
 * same message, marked as data. A prompt for which nothing is found stays as it is. If the search
 * fails, the call of the model fails: an answer without its sources would look like one with them.
 */
export function recallMiddleware(knowledge: Knowledge, options: SearchOptions = {}): LanguageModelMiddleware {
  const own = { ...options };
  checkOptions(knowledge, own, searchNames);
  return {
    specificationVersion: "v4",
    transformParams: async ({ params }) => {
      const at = params.prompt.findLastIndex(({ role }) => role === "user");
      const message = params.prompt[at];
      if (message?.role !== "user") return params;
      const question = message.content
        .flatMap((part) => (part.type === "text" ? [part.text] : []))
        .join("\n")
        .trim();
      if (question === "") return params;
      const passages = await findPassages(knowledge, question, own, params.abortSignal);
      if (passages.length === 0) return params;
      const recalled = { type: "text" as const, text: `${asData(passages)}\n\n` };
      const content = [recalled, ...message.content];
      return { ...params, prompt: params.prompt.with(at, { ...message, content }) };
    },
  };
}
