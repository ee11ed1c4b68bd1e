/**
 * Parses a JSON body in parts, as its bytes arrive: elements of large arrays, vectors in base64, and
 * the rest at the end. All parts have limits, so that little is in memory at a time. Runs in a
 * thread of its own: see json-thread.ts. Messages repeat nothing of the body.
 */

import { isAscii } from "node:buffer";
import { Tokenizer, TokenParser, TokenType } from "@streamparser/json";

/** Dotted names of arrays, and of strings in base64, at most two levels deep. */
export interface Streamed {
  readonly arrays: readonly string[];
  readonly base64: readonly string[];
}

export interface ArrayPart {
  readonly name: string;
  /** Position of the first element in the array. */
  readonly start: number;
  readonly elements: unknown[];
}

export interface BytesPart {
  readonly name: string;
  readonly bytes: Uint8Array<ArrayBuffer>;
}

export type Part = ArrayPart | BytesPart;

const depthMax = 32;
/** Limit of elements in a part of a short body. */
const togetherMax = 4096;
/** Limit of a part: 1 MiB of contents takes 6 MiB if every character is escaped. */
const partBytesMax = 8 * 1024 * 1024;
/** Limit of values in a part: metadata of 64 KiB have up to 32,768, filters 10,000. */
const partValuesMax = 50_000;
/** Shorter arrays of numbers are sent as they are. */
const packedMin = 16;

export class JsonParts {
  /** Checks the bytes if they are not all ASCII. */
  readonly #utf8 = new TextDecoder("utf-8", { fatal: true });
  #isAscii = true;
  // Numbers and strings are collected in buffers, which halves the time.
  readonly #tokenizer = new Tokenizer({ numberBufferSize: 64, stringBufferSize: 4096 });
  readonly #values: TokenParser;
  readonly #base64: ReadonlySet<string>;
  /** Number of elements of each array that has begun, and 1 for each string in base64. */
  readonly #counts = new Map<string, number>();
  #parts: Part[] = [];
  #rest: { readonly value: unknown } | undefined;
  #depth = 0;
  /** Of the last token. */
  #offset = 0;
  /** Values, and the offset, of the current part; -1 before its first token. */
  #partValues = 0;
  #partStart = -1;

  constructor({ arrays, base64 }: Streamed = { arrays: [], base64: [] }) {
    this.#base64 = new Set(base64);
    // The tokenizer's own would drop U+FEFF at the start of a text, and after an escape in it.
    const decoder = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });
    Object.assign(this.#tokenizer["bufferedString"], { decoder });
    const paths = ["$", ...base64.map((name) => `$.${name}`), ...arrays.map((name) => `$.${name}.*`)];
    this.#values = new TokenParser({ paths, keepStack: true });
    this.#tokenizer.onToken = (token) => {
      this.#offset = token.offset;
      this.#count(token.token, token.offset);
      this.#values.write(token);
    };
    this.#tokenizer.onError = this.#values.onError = (error) => {
      throw error instanceof Fault ? error : notJson(byteIn(error) ?? this.#offset);
    };
    this.#values.onValue = ({ value, key, parent, stack }) => {
      if (stack.length === 0) this.#rest = { value };
      else {
        const place = stack.slice(1).map((each) => each.key);
        if (Array.isArray(parent)) this.#takeElement(value, key as number, parent, place.join("."));
        else this.#takeText(value, key as string, parent as object, [...place, key].join("."));
      }
    };
  }

  /** Returns the parts that the next bytes complete. */
  push(bytes: Uint8Array): Part[] {
    this.#isAscii &&= isAscii(bytes);
    if (!this.#isAscii) decodeUtf8(this.#utf8, bytes);
    this.#tokenizer.write(bytes);
    const parts = this.#parts;
    this.#parts = [];
    return parts;
  }

  /** Returns the rest of the body, with empty arrays and strings instead of the parts. */
  finish(): unknown {
    decodeUtf8(this.#utf8);
    this.#tokenizer.end();
    if (this.#rest === undefined) throw notJson(this.#offset + 1);
    return this.#rest.value;
  }

  #takeText(value: unknown, key: string, parent: object, name: string): void {
    if (typeof value !== "string" || !this.#base64.has(name)) return;
    // A part begins after it, so repetitions would make room for any number of parts.
    if (this.#counts.has(name)) throw new Fault(`${name}: expected it once`);
    this.#counts.set(name, 1);
    this.#parts.push({ name, bytes: bytesOfBase64(value, name) });
    Object.assign(parent, { [key]: "" });
    this.#beginPart();
  }

  #takeElement(value: unknown, index: number, array: unknown[], name: string): void {
    if (index !== (this.#counts.get(name) ?? 0)) throw new Fault("body: expected each array once");
    this.#counts.set(name, index + 1);
    array.length = 0;
    const element = packNumbers(value);
    const last = this.#parts.at(-1);
    if (last?.name === name && "elements" in last) last.elements.push(element);
    else this.#parts.push({ name, start: index, elements: [element] });
    this.#beginPart();
  }

  #beginPart(): void {
    this.#partValues = 0;
    this.#partStart = -1;
  }

  #count(token: TokenType, offset: number): void {
    if (this.#partStart < 0) this.#partStart = offset;
    if (offset - this.#partStart > partBytesMax) {
      throw new Fault(`body: expected at most ${partBytesMax} bytes in one part of it`);
    }
    const { LEFT_BRACE, LEFT_BRACKET, RIGHT_BRACE, RIGHT_BRACKET, COMMA } = TokenType;
    const opens = token === LEFT_BRACE || token === LEFT_BRACKET;
    if (opens && ++this.#depth > depthMax) throw tooDeep();
    if (token === RIGHT_BRACE || token === RIGHT_BRACKET) this.#depth--;
    if ((opens || token === COMMA) && ++this.#partValues > partValuesMax) {
      throw new Fault(`body: expected at most ${partValuesMax} values in one part of it`);
    }
  }
}

/** Throws for anything but base64; padding is optional. */
function bytesOfBase64(text: string, name: string): Uint8Array<ArrayBuffer> {
  const length = text.length - (text.endsWith("==") ? 2 : text.endsWith("=") ? 1 : 0);
  const bytes = new Uint8Array(Math.floor((length * 3) / 4));
  // The decoder skips invalid characters, so the length reveals them.
  if (length % 4 === 1 || Buffer.from(bytes.buffer).write(text, "base64") !== bytes.length) {
    throw new Fault(`${name}: expected base64`);
  }
  return bytes;
}

/**
 * Turns vectors, in or as elements, into typed arrays, which are sent between threads several times
 * as fast.
 */
function packNumbers(element: unknown): unknown {
  if (Array.isArray(element)) {
    return element.length >= packedMin && element.every(Number.isFinite)
      ? Float64Array.from(element as number[])
      : element;
  }
  if (isObject(element)) {
    for (const [name, value] of Object.entries(element)) {
      if (Array.isArray(value)) element[name] = packNumbers(value);
    }
  }
  return element;
}

/** Reverses `packNumbers`. */
export function unpackNumbers(element: unknown): unknown {
  if (ArrayBuffer.isView(element)) return Array.from(element as Float64Array);
  if (isObject(element)) {
    for (const [name, value] of Object.entries(element)) {
      if (ArrayBuffer.isView(value)) element[name] = Array.from(value as Float64Array);
    }
  }
  return element;
}

/** Parses a short body at once. The parts are taken out of it. */
export function parseParts(bytes: Uint8Array, { arrays, base64 }: Streamed) {
  let body: unknown;
  try {
    const utf8 = new TextDecoder("utf-8", { fatal: true });
    body = JSON.parse(decodeUtf8(utf8, bytes) + decodeUtf8(utf8));
  } catch (error) {
    throw error instanceof Fault ? error : faultOf(bytes, { arrays, base64 });
  }
  checkDepth(body, 1);
  const parts: Part[] = [];
  for (const name of [...arrays, ...base64]) {
    const place = placeIn(body, name);
    const value = place?.holder[place.key];
    if (place === undefined) continue;
    if (typeof value === "string" && base64.includes(name)) {
      parts.push({ name, bytes: bytesOfBase64(value, name) });
      place.holder[place.key] = "";
    } else if (Array.isArray(value)) {
      for (let start = 0; start < value.length; start += togetherMax) {
        parts.push({ name, start, elements: value.slice(start, start + togetherMax) });
      }
      place.holder[place.key] = [];
    }
  }
  return { parts, rest: body };
}

/** The fault of a short body that is not JSON: the messages of `JSON.parse` may quote it, and not all say where. */
function faultOf(bytes: Uint8Array, streamed: Streamed): Fault {
  const parts = new JsonParts(streamed);
  try {
    parts.push(bytes);
    parts.finish();
  } catch (error) {
    if (error instanceof Fault) return error;
  }
  return notJson(0);
}

/** Where a body has a member of a dotted name; undefined if it has none. */
export function placeIn(body: unknown, name: string) {
  const [first, second] = name.split(".");
  const holder = second === undefined || !isObject(body) ? body : body[first];
  const key = second ?? first;
  return isObject(holder) && Object.hasOwn(holder, key) ? { holder, key } : undefined;
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

function checkDepth(value: unknown, depth: number): void {
  if (typeof value !== "object" || value === null) return;
  if (depth > depthMax) throw tooDeep();
  for (const each of Array.isArray(value) ? value : Object.values(value)) checkDepth(each, depth + 1);
}

function decodeUtf8(decoder: TextDecoder, bytes?: Uint8Array): string {
  try {
    return decoder.decode(bytes, { stream: bytes !== undefined });
  } catch {
    throw new Fault("body: expected UTF-8");
  }
}

/** A fault of the body. */
export class Fault extends Error {}

function tooDeep(): Fault {
  return new Fault(`body: expected JSON nested at most ${depthMax} deep`);
}

function notJson(byte: number): Fault {
  return new Fault(`body: invalid JSON at byte ${byte}`);
}

/** The place in a message of the tokenizer. */
function byteIn({ message }: Error): number | undefined {
  const [, byte] = /absolute position "(\d+)"/.exec(message) ?? [];
  return byte === undefined ? undefined : Number(byte);
}
