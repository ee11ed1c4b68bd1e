/** Sends queries in as many requests as needed, in base64 if the service accepts it. */

import { jsonText } from "../check-input.js";
import type { Match } from "../vector-index.js";
import { decodeResults, type QueryBody, queryForms } from "../wire.js";
import type { Connection } from "./connection.js";
import { inBatches } from "./in-batches.js";

/** One list of matches per vector; a single list without several vectors. */
export async function sendQuery(
  connection: Connection,
  body: QueryBody,
  { isBatch, signal }: { readonly isBatch: boolean; readonly signal: AbortSignal | undefined },
): Promise<Match[][]> {
  const post = async (route: string, part: object, several: boolean) =>
    decodeResults(
      await connection.post(`/v1/vectors/${route}`, jsonText(part, "request"), {
        signal,
        isIdempotent: true,
      }),
      several,
    );
  const forms = queryForms(body, isBatch);
  if (forms === undefined) return post("query", body, false);
  const { vectors, json, binary } = forms;
  const sendJson = () =>
    isBatch
      ? inBatches(vectors, json.together, (part) => post("query", json.bodyOf(part), true))
      : post("query", body, false);
  if (binary === undefined) return sendJson();
  const sendBinary = () =>
    inBatches(vectors, binary.together, (part) => post("query_binary", binary.bodyOf(part), true));
  return connection.binaryRoutes.use(sendBinary, sendJson);
}
