/**
 * `EncryptedSemanticCache`: caches responses of language models for questions with the same meaning.
 */

import { createHash } from "node:crypto";
import { BaseCache, deserializeStoredGeneration, serializeGeneration } from "@langchain/core/caches";
import type { StoredGeneration } from "@langchain/core/messages";
import type { Generation } from "@langchain/core/outputs";
import { invalid } from "../checks/input.js";
import { optionNames, takeOptions } from "../checks/option-names.js";
import type { EncryptedVectorStore } from "./encrypted-vector-store.js";

/** Options of an `EncryptedSemanticCache`. */
export interface SemanticCacheOptions {
  /** Minimum cosine similarity of a question to count as the same, in [0, 1]. Default 0.96. */
  readonly scoreThreshold?: number;
  /** Lifetime of a response in seconds. Default: unlimited. */
  readonly ttlSeconds?: number;
}

const cacheOptions = optionNames<SemanticCacheOptions>("EncryptedSemanticCache", {
  scoreThreshold: true,
  ttlSeconds: true,
});

/**
 * A cache for `new ChatModel({ cache })`, over a store of its own with the metric `cosine`.
 *
 * `lookup` returns the responses of the most similar last message that was cached after exactly the
 * same messages, for the same model and settings, and has not expired, if its cosine similarity
 * reaches the threshold, and its numbers, signs, negations and the order of its words are the same;
 * otherwise null. A prompt without messages is compared by its last line. `update` replaces the
 * entry of exactly this prompt. Questions and responses are encrypted like any document; the rest is
 * stored as a digest. A response that is no JSON, or longer than 1 MiB, is refused with
 * `invalid_request`.
 */
export class EncryptedSemanticCache extends BaseCache {
  readonly #store: EncryptedVectorStore;
  readonly #scoreThreshold: number;
  readonly #ttlSeconds: number | undefined;

  constructor(store: EncryptedVectorStore, options: SemanticCacheOptions = {}) {
    super();
    options = takeOptions(options, cacheOptions);
    const { scoreThreshold = 0.96, ttlSeconds } = options;
    if (!(scoreThreshold >= 0 && scoreThreshold <= 1)) {
      throw invalid("scoreThreshold: expected a number from 0 to 1");
    }
    if (ttlSeconds !== undefined && !(ttlSeconds > 0)) {
      throw invalid("ttlSeconds: expected a number above 0");
    }
    this.#store = store;
    this.#scoreThreshold = scoreThreshold;
    this.#ttlSeconds = ttlSeconds;
  }

  override async lookup(prompt: string, llmKey: string): Promise<Generation[] | null> {
    const { context, question } = split(prompt, llmKey);
    if (question === "") return null;
    const filter = { context, $or: [{ expiresAt: null }, { expiresAt: { $gt: Date.now() } }] };
    const vector = await this.#store.embeddings.embedQuery(question);
    const nearest = await this.#store.similaritySearchVectorWithScore(vector, candidates, filter);
    const entries = nearest.map(([{ pageContent }]) => JSON.parse(pageContent) as Entry);
    const isNear = (entry: Entry, i: number) =>
      2 * nearest[i][1] - 1 >= this.#scoreThreshold && isSameQuestion(question, entry.question);
    // Of questions that the model reads alike, the same one.
    const found = entries.find((entry) => entry.question === question) ?? entries.find(isNear);
    return found?.generations.map((stored) => deserializeStoredGeneration(stored) as Generation) ?? null;
  }

  override async update(prompt: string, llmKey: string, value: Generation[]): Promise<void> {
    const { context, question } = split(prompt, llmKey);
    // LangChain leaves images out of the prompt.
    if (question === "") return;
    const expiresAt = this.#ttlSeconds === undefined ? null : Date.now() + 1000 * this.#ttlSeconds;
    // As text, which may be longer than metadata.
    const entry: Entry = { question, generations: value.map(serializeGeneration) };
    const document = { pageContent: JSON.stringify(entry), metadata: { context, expiresAt } };
    const vector = await this.#store.embeddings.embedQuery(question);
    await this.#store.addVectors([vector], [document], { ids: [digest(context + question)] });
  }

  /** Deletes expired responses to free space; `lookup` never returns them. */
  async deleteExpired(): Promise<void> {
    await this.#store.delete({ filter: { expiresAt: { $lte: Date.now() } } });
  }
}

interface Entry {
  readonly question: string;
  readonly generations: readonly StoredGeneration[];
}

/** Nearest questions that are looked at: the first may differ in a number. */
const candidates = 4;
/** UTF-16 units at the end of a long message that are compared. */
const questionMax = 8192;
/** LangChain writes the messages of a chat so, one after the other. */
const messageStart = /^(?:Human|AI|System|Tool|user|assistant|developer|function): /gm;

/** The last message, or the last line of another text, and a digest of everything before it. */
function split(prompt: string, llmKey: string) {
  const last = Array.from(prompt.matchAll(messageStart)).at(-1);
  const start = last === undefined ? prompt.trimEnd().lastIndexOf("\n") + 1 : last.index + last[0].length;
  const from = Math.max(start, prompt.length - questionMax);
  return {
    context: digest(JSON.stringify([llmKey, prompt.slice(0, from)])),
    question: prompt.slice(from).trim(),
  };
}

/**
 * Whether numbers, signs, negations and the order of words are the same. Questions that differ in these
 * are near each other for every embedding model: `Is parking allowed?` and `Is parking not allowed?`.
 */
function isSameQuestion(one: string, other: string): boolean {
  const [a, b] = [wordsOf(one), wordsOf(other)];
  const [inA, inB] = [new Set(a), new Set(b)];
  const isDecisive = (word: string) => !letters.test(word) || negation.test(word);
  const shared = (words: readonly string[], within: ReadonlySet<string>) =>
    words.filter((word) => within.has(word) || isDecisive(word)).join(" ");
  return shared(a, inB) === shared(b, inA);
}

/** Of the languages in which most questions are asked. */
const negation =
  /^(?:not?|none?|nor|never|neither|without|except|unless|cannot|nicht|kein\w*|nie|ohne|ne|pas|jamais|sans|sin|nunca|não|sem|senza|mai|niet|geen|zonder|не|нет|без)$|n't$/u;

/** A word without numbers. Models read `-5` like `5`, and know few operators, currencies and emoji. */
const letters = /^[\p{L}\p{M}']+$/u;

/** Words, and the signs that are no punctuation of sentences: `.` and dashes only before a number, `!` only behind one. */
function wordsOf(text: string): string[] {
  const plain = text.normalize("NFKC").toLowerCase().replaceAll("’", "'");
  return (
    plain.match(
      /[\p{L}\p{M}\p{N}']+(?:[.,:/-]\p{N}+)*|\.(?=\p{N})|\p{Pd}(?=\s*\.?\p{N})|(?<=\p{N})!|[\p{S}\p{Pc}*/%&#@()[\]{}]/gu,
    ) ?? []
  );
}

function digest(text: string): string {
  return createHash("sha256").update(text).digest("hex");
}
