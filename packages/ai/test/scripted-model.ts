/** The AI SDK's own mock model, which answers as a script says. */

import { simulateReadableStream } from "ai";
import { MockLanguageModelV4 } from "ai/test";

type Call = Parameters<MockLanguageModelV4["doGenerate"]>[0];
type Result = Awaited<ReturnType<MockLanguageModelV4["doGenerate"]>>;

/** A text, or a call of a tool. */
export type Answer = string | { readonly toolName: string; readonly input: object };

const usage: Result["usage"] = {
  inputTokens: { total: 1, noCache: 1, cacheRead: undefined, cacheWrite: undefined },
  outputTokens: { total: 1, text: 1, reasoning: undefined },
};

/** `next` sees each call, as a model does. */
export function scriptedModel(next: (call: Call, number: number) => Answer): MockLanguageModelV4 {
  let calls = 0;
  const answer = (call: Call) => next(call, calls++);
  return new MockLanguageModelV4({
    doGenerate: async (call) => {
      const given = answer(call);
      const finishReason = {
        unified: typeof given === "string" ? ("stop" as const) : ("tool-calls" as const),
        raw: undefined,
      };
      const content: Result["content"] =
        typeof given === "string"
          ? [{ type: "text", text: given }]
          : [
              {
                type: "tool-call",
                toolCallId: `call-${calls}`,
                toolName: given.toolName,
                input: JSON.stringify(given.input),
              },
            ];
      return { content, finishReason, usage, warnings: [] };
    },
    doStream: async (call) => {
      const given = answer(call);
      if (typeof given !== "string")
        throw new Error("expected a text: the script of a stream calls no tools");
      return {
        stream: simulateReadableStream({
          chunks: [
            { type: "text-start", id: "1" },
            { type: "text-delta", id: "1", delta: given },
            { type: "text-end", id: "1" },
            { type: "finish", finishReason: { unified: "stop", raw: undefined }, usage },
          ],
        }),
      };
    },
  });
}

/** All texts of a prompt, results of tools included, as a model reads them. */
export function textOf(call: Call | undefined): string {
  const texts = call?.prompt.flatMap(({ content }) =>
    typeof content === "string"
      ? [content]
      : content.map((part) => {
          if (part.type === "text") return part.text;
          return part.type === "tool-result" && part.output.type === "text" ? part.output.value : "";
        }),
  );
  return (texts ?? []).join("\n");
}
