/** Models that need no network: an embedder, and a model that answers with the text of its prompt. */

import type {
  EmbeddingModelV3,
  LanguageModelV3,
  LanguageModelV3CallOptions,
  LanguageModelV3GenerateResult,
} from "@ai-sdk/provider";

const words = ["train", "keys", "salmon", "nuts", "office"];

/** A dimension per word, and one for all other texts. */
export const embedder: EmbeddingModelV3 = {
  specificationVersion: "v3",
  provider: "mock",
  modelId: "words",
  maxEmbeddingsPerCall: 100,
  supportsParallelCalls: true,
  doEmbed: async ({ values }) => ({
    embeddings: values.map((value) => [
      ...words.map((word) => Number(value.toLowerCase().includes(word))),
      0.1,
    ]),
    warnings: [],
  }),
};

const usage: LanguageModelV3GenerateResult["usage"] = {
  inputTokens: { total: 1, noCache: 1, cacheRead: undefined, cacheWrite: undefined },
  outputTokens: { total: 1, text: 1, reasoning: undefined },
};
const finishReason = { unified: "stop", raw: undefined } as const;

function answer({ prompt }: LanguageModelV3CallOptions): string {
  return `I was told: ${JSON.stringify(prompt)}`;
}

export const model: LanguageModelV3 = {
  specificationVersion: "v3",
  provider: "mock",
  modelId: "repeats-its-prompt",
  supportedUrls: {},
  doGenerate: async (call) => ({
    content: [{ type: "text", text: answer(call) }],
    finishReason,
    usage,
    warnings: [],
  }),
  doStream: async (call) => ({
    stream: new ReadableStream({
      start(controller) {
        controller.enqueue({ type: "stream-start", warnings: [] });
        controller.enqueue({ type: "text-start", id: "1" });
        controller.enqueue({ type: "text-delta", id: "1", delta: answer(call) });
        controller.enqueue({ type: "text-end", id: "1" });
        controller.enqueue({ type: "finish", finishReason, usage });
        controller.close();
      },
    }),
  }),
};
