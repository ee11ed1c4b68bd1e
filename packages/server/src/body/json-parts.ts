/**
 * Parses a JSON body in parts, as its bytes arrive: elements of top-level arrays, a few at a time,
 * and the rest at the end. Arrays and base64 one level deeper are streamed on request. All parts
 * have limits of length, depth and values, so that `JSON.parse` never takes long; longer parts are
 * refused before they are parsed.
 *
 * The bytes are only scanned for strings, brackets and commas; `JSON.parse` parses each part. If
 * all parts are JSON, so is the whole. Every key is kept, including `__proto__`.
 */

import { SealdexError } from "sealdex/core";
import { Base64Floats } from "./base64-floats.js";

/** Consecutive elements of a top-level array. */
export interface ArrayPart {
  readonly name: string;
  /** Position of the first element in the array. */
  readonly start: number;
  /** Owned by the receiver. */
  readonly elements: unknown[];
}

/** Streamed members of second-level objects: their dotted names, and the names of the objects. */
export interface Streamed {
  readonly parents: ReadonlySet<string>;
  readonly arrays: ReadonlySet<string>;
  readonly base64: ReadonlySet<string>;
}

const nothingStreamed: Streamed = { parents: new Set(), arrays: new Set(), base64: new Set() };

const depthMax = 32;
/**
 * Limit of one element and of the rest: 1 MiB of contents takes 6 MiB if every character is
 * escaped.
 */
const partBytesMax = 8 * 1024 * 1024;
/**
 * Limit of values that are parsed together: metadata of 64 KiB have up to 32,768, a vector 8,192,
 * earlier elements 4,096.
 */
const elementValuesMax = 50_000;
/** Limit of values in the rest, which stays in memory: filters have up to 10,000. */
const restValuesMax = 20_000;
/** Elements are parsed together up to this many bytes or values. */
const togetherBytes = 64 * 1024;
const togetherValues = 4096;
/** All known names are shorter. */
const nameBytesMax = 256;

const [quote, backslash, comma] = [0x22, 0x5c, 0x2c];
const [openArray, closeArray, openObject, closeObject] = [0x5b, 0x5d, 0x7b, 0x7d];

export class JsonParts {
  readonly #names = new Set<string>();
  readonly #streamed: Streamed;
  /** Numbers received as base64, by dotted name. */
  readonly floats = new Map<string, Base64Floats>();
  /** Bytes of the rest, and of elements that are not parsed yet. */
  readonly #rest = new Held();
  readonly #pending = new Held();
  #isObject = false;
  #depth = 0;
  #inString = false;
  #escaped = false;
  /** The array that is being scanned. */
  #array: string | undefined;
  #arrayDepth = 0;
  #start = 0;
  #commas = 0;
  /** The second-level object that is being scanned, if parts of it are streamed. */
  #parent: string | undefined;
  /** The base64 string that is being scanned. */
  #base64: Base64Floats | undefined;

  constructor(streamed: Streamed = nothingStreamed) {
    this.#streamed = streamed;
  }

  /**
   * Scans bytes and yields elements as soon as they are complete; for an empty array, none. Throws
   * `invalid_request`.
   */
  *push(chunk: Buffer): Generator<ArrayPart> {
    let from = 0;
    for (let i = 0; i < chunk.length; i++) {
      const byte = chunk[i];
      if (this.#base64 !== undefined) {
        i = this.#skipBase64(chunk, i);
        from = i;
        continue;
      }
      if (this.#inString) {
        i = this.#skipString(chunk, i);
        continue;
      }
      if (isPlain(byte)) {
        while (i + 1 < chunk.length && isPlain(chunk[i + 1])) i++;
        continue;
      }
      switch (byte) {
        case quote:
          if (this.#parent !== undefined && this.#depth === 2 && this.#array === undefined) {
            this.#rest.add(chunk.subarray(from, i));
            from = i;
            if (this.#openBase64(this.#parent)) {
              from = i + 1;
              break;
            }
          }
          this.#inString = true;
          break;
        case openArray:
        case openObject:
          if (this.#depth === 0) this.#isObject = byte === openObject;
          if (++this.#depth > depthMax) throw invalid(`expected JSON nested at most ${depthMax} deep`);
          this.#countValue();
          if (this.#array === undefined && this.#mayOpen(byte)) {
            this.#rest.add(chunk.subarray(from, i + 1));
            from = i + 1;
            this.#open(byte);
          }
          break;
        case closeArray:
        case closeObject:
          if (this.#depth === 2 && this.#array === undefined) this.#parent = undefined;
          if (this.#depth-- === this.#arrayDepth && this.#array !== undefined) {
            if (byte !== closeArray) throw notJson();
            this.#pending.add(chunk.subarray(from, i));
            from = i;
            yield* this.#take(true);
            this.#array = undefined;
          }
          break;
        case comma:
          this.#countValue();
          if (this.#array === undefined || this.#depth !== this.#arrayDepth) break;
          if (this.#isEnough(i - from)) {
            this.#pending.add(chunk.subarray(from, i));
            from = i + 1;
            yield* this.#take(false);
          } else this.#commas++;
          break;
        default:
      }
    }
    this.#current.add(chunk.subarray(from));
  }

  /** Position of the end of the string that is open at `i`, or the end of the chunk. */
  #skipString(chunk: Buffer, i: number): number {
    let escaped = this.#escaped;
    for (; i < chunk.length; i++) {
      if (escaped) escaped = false;
      else if (chunk[i] === backslash) escaped = true;
      else if (chunk[i] === quote) {
        this.#inString = false;
        break;
      }
    }
    this.#escaped = escaped;
    return i;
  }

  /** Position of the quote that ends the base64, or the end of the chunk. */
  #skipBase64(chunk: Buffer, i: number): number {
    const end = chunk.indexOf(quote, i);
    this.#base64?.push(chunk.subarray(i, end < 0 ? chunk.length : end));
    if (end < 0) return chunk.length;
    this.#base64?.finish();
    this.#base64 = undefined;
    return end;
  }

  /**
   * Returns the rest of the body, with empty arrays instead of the streamed ones. Throws
   * `invalid_request`.
   */
  finish(): unknown {
    if (this.#rest.bytes === 0) throw invalid("expected JSON, got nothing");
    if (this.#array !== undefined || this.#base64 !== undefined) throw notJson();
    return parse(this.#rest.take());
  }

  get #current(): Held {
    return this.#array === undefined ? this.#rest : this.#pending;
  }

  /** Whether the value that starts here may be streamed, or contain streamed parts. */
  #mayOpen(byte: number): boolean {
    if (this.#depth === 2 && this.#isObject) return byte === openArray || this.#streamed.parents.size > 0;
    return this.#depth === 3 && byte === openArray && this.#parent !== undefined;
  }

  #open(byte: number): void {
    const [, literal] = /("(?:[^"\\]|\\.)*")\s*:\s*[[{]$/.exec(this.#rest.tail(nameBytesMax)) ?? [];
    if (literal === undefined) throw notJson();
    const name = parse(literal) as string;
    if (byte === openObject) {
      if (this.#streamed.parents.has(name)) this.#parent = name;
      return;
    }
    const path = this.#depth === 2 ? name : `${this.#parent}.${name}`;
    if (this.#depth === 3 && !this.#streamed.arrays.has(path)) return;
    this.#addName(path);
    this.#array = path;
    this.#arrayDepth = this.#depth;
    this.#start = 0;
    this.#commas = 0;
  }

  /** Whether the string that starts here is streamed base64; the rest then gets an empty string. */
  #openBase64(parent: string): boolean {
    const [, name] = /"(\w+)"\s*:\s*$/.exec(this.#rest.tail(nameBytesMax)) ?? [];
    const path = `${parent}.${name}`;
    if (!this.#streamed.base64.has(path)) return false;
    this.#addName(path);
    this.#rest.add(Buffer.from([quote]));
    this.#base64 = new Base64Floats(path);
    this.floats.set(path, this.#base64);
    return true;
  }

  #addName(name: string): void {
    if (this.#names.has(name)) throw invalid("expected each array once");
    this.#names.add(name);
  }

  #countValue(): void {
    const max = this.#array === undefined ? restValuesMax : elementValuesMax;
    if (++this.#current.values > max) throw invalid(`expected at most ${max} values in one part of it`);
  }

  #isEnough(bytes: number): boolean {
    return this.#pending.bytes + bytes >= togetherBytes || this.#pending.values >= togetherValues;
  }

  *#take(isLast: boolean): Generator<ArrayPart> {
    const text = this.#pending.take();
    const elements = parse(`[${text}]`) as unknown[];
    const isEmpty = isLast && this.#start === 0 && this.#commas === 0 && elements.length === 0;
    // A comma without an element before or after it.
    if (elements.length !== this.#commas + 1 && !isEmpty) throw notJson();
    yield { name: this.#array as string, start: this.#start, elements };
    this.#start += elements.length;
    this.#commas = 0;
  }
}

/** Digits, points, signs and capitals, which are most bytes of vectors. */
function isPlain(byte: number): boolean {
  return byte > comma && byte < openArray;
}

/** Bytes of an incomplete part. */
class Held {
  bytes = 0;
  values = 0;
  #chunks: Buffer[] = [];

  add(chunk: Buffer): void {
    this.bytes += chunk.length;
    if (this.bytes > partBytesMax) throw invalid(`expected at most ${partBytesMax} bytes in one part of it`);
    if (chunk.length > 0) this.#chunks.push(chunk);
  }

  /**
   * Returns the text and empties it. Parts end at ASCII characters, so none of them splits a
   * character.
   */
  take(): string {
    const bytes = this.#chunks.length === 1 ? this.#chunks[0] : Buffer.concat(this.#chunks);
    this.#chunks = [];
    this.bytes = 0;
    this.values = 0;
    try {
      return utf8.decode(bytes);
    } catch {
      throw invalid("expected UTF-8");
    }
  }

  /** The last bytes, at most `length`. */
  tail(length: number): string {
    const chunks: Buffer[] = [];
    for (let i = this.#chunks.length - 1, bytes = 0; i >= 0 && bytes < length; i--) {
      bytes += this.#chunks[i].length;
      chunks.unshift(this.#chunks[i]);
    }
    return Buffer.concat(chunks.map((chunk) => chunk.subarray(-length))).toString("utf8");
  }
}

const utf8 = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });

function parse(text: string): unknown {
  try {
    return JSON.parse(text) as unknown;
  } catch {
    // Its message quotes the text.
    throw notJson();
  }
}

function notJson(): SealdexError {
  return invalid("invalid JSON");
}

/** Messages repeat nothing of the body. */
function invalid(message: string): SealdexError {
  return new SealdexError("invalid_request", `body: ${message}`);
}
