/** Answers within ten seconds, or reports progress if the client asked for it. */

import type { RequestHandlerExtra } from "@modelcontextprotocol/sdk/shared/protocol.js";
import type { CallToolResult, ServerNotification, ServerRequest } from "@modelcontextprotocol/sdk/types.js";

export type Extra = RequestHandlerExtra<ServerRequest, ServerNotification>;

const progressMs = 4000;
const answerMs = 8000;

export function toResult(text: string, isError = false): CallToolResult {
  return { content: [{ type: "text", text }], ...(isError && { isError }) };
}

/** `late`: the answer if the work takes longer, which continues. */
export async function inTime(extra: Extra, work: Promise<string>, late: string): Promise<CallToolResult> {
  const { _meta: meta } = extra;
  const progressToken = meta?.progressToken;
  const result = work.then((text) => toResult(text));
  let progress = 0;
  let timer: NodeJS.Timeout | undefined;
  try {
    if (progressToken === undefined) {
      const answer = new Promise<CallToolResult>((resolve) => {
        timer = setTimeout(() => resolve(toResult(late, true)), answerMs);
      });
      return await Promise.race([result, answer]);
    }
    timer = setInterval(() => {
      const params = { progressToken, progress: ++progress, message: "Waiting for the storage" };
      // A client that left gets no progress.
      extra.sendNotification({ method: "notifications/progress", params }).catch(() => undefined);
    }, progressMs);
    return await result;
  } finally {
    clearInterval(timer);
  }
}
