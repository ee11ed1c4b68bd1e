/** Limits the memory of results, and sends them. */

import { Readable } from "node:stream";
import type { FastifyReply } from "fastify";
import { SealdexError } from "sealdex/core";
import { type ResultSettings, yieldIfDue } from "sealdex/wire";
import type { Limits } from "./limits.js";
import { Semaphore } from "./semaphore.js";
import { ownerOf } from "./request-address.js";
import { untilTooLate, untilTooLong, whenEnded } from "./request-end.js";

/** Results up to this size need not wait. */
const smallBytes = 256 * 1024;
/** Memory of a query for each neighbor. */
export const neighborBytes = 16;
/** Characters per write. */
const pieceCharacters = 64 * 1024;

/** Limits of a request that reads. */
export interface ReadLimits extends ResultSettings {
  readonly signal: AbortSignal;
  /** Awaited with the bytes of results before they are created. */
  reserveBytes(bytes: number): Promise<void>;
}

/** Creates the limits of each reading request; the bytes of all large results share one limit. */
export function readLimits(limits: Limits): (reply: FastifyReply) => ReadLimits {
  const large = new Semaphore(limits.resultsBytesMax, limits.waitingMax);
  return (reply) => ({
    signal: untilTooLong(reply, limits.workMsMax),
    reserveBytes: resultBudget(reply, large, limits),
    // Sent as it is stored.
    rawMetadata: true,
  });
}

/**
 * Counts the bytes of one request's results before they are created: waits for room for large ones,
 * and throws `too_large` beyond `resultBytesMax`. `semaphore` limits the bytes of all large results.
 */
function resultBudget(reply: FastifyReply, semaphore: Semaphore, { resultBytesMax, waitMsMax }: Limits) {
  let total = 0;
  let isLarge = false;
  return async (bytes: number): Promise<void> => {
    total += bytes;
    if (total > resultBytesMax) {
      throw new SealdexError(
        "too_large",
        `results: expected at most ${resultBytesMax} bytes (SEALDEX_RESULT_BYTES_MAX); ask for fewer queries, ids or neighbors at a time, or for fewer ` +
          "fields; list in pages, with limit and after",
      );
    }
    if (isLarge || total <= smallBytes) return;
    isLarge = true;
    const until = untilTooLate(reply, waitMsMax);
    whenEnded(reply, await semaphore.acquire(ownerOf(reply.request), resultBytesMax, until));
  };
}

/** Sends JSON text: at once if it is short, otherwise in pieces, as fast as the client reads. */
export function sendJson(reply: FastifyReply, texts: Iterable<string>): FastifyReply {
  reply.type("application/json; charset=utf-8");
  const pieces = joined(texts)[Symbol.iterator]();
  const first = pieces.next();
  const second = pieces.next();
  if (second.done === true) return reply.send(first.value ?? "");
  return reply.send(
    Readable.from(withTurns([first.value ?? "", second.value], pieces), { objectMode: false }),
  );
}

async function* withTurns(begin: readonly string[], pieces: Iterator<string>): AsyncGenerator<string> {
  yield* begin;
  for (let next = pieces.next(); next.done !== true; next = pieces.next()) {
    yield next.value;
    await yieldIfDue();
  }
}

function* joined(texts: Iterable<string>): Generator<string, undefined> {
  let piece = "";
  for (const text of texts) {
    piece += text;
    if (piece.length < pieceCharacters) continue;
    yield piece;
    piece = "";
  }
  if (piece !== "") yield piece;
  return undefined;
}
