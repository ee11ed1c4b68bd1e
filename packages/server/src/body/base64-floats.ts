/** Decodes numbers from base64 of little-endian float32, piece by piece. */

import { invalid } from "sealdex/wire";

/** A multiple of 4 bytes. */
const slabBytes = 64 * 1024;
const slash = 0x2f;
const backslash = 0x5c;

/** Rows are views of received bytes, except rows across two slabs. */
export class Base64Floats {
  /** Received bytes of numbers. */
  bytes = 0;
  readonly #where: string;
  readonly #slabs: Uint8Array[] = [];
  /** Up to three characters of an incomplete group. */
  #carry = "";
  #isEscaped = false;
  #isPadded = false;

  /** `where` names the field in messages. */
  constructor(where: string) {
    this.#where = where;
  }

  /** Decodes the next characters of the JSON string. Throws `invalid_request`. */
  push(characters: Buffer): void {
    const text = this.#carry + this.#unescape(characters).toString("latin1");
    const whole = text.length - (text.length % 4);
    this.#carry = text.slice(whole);
    this.#decode(text.slice(0, whole));
  }

  /** Ends the string; padding is optional. Throws `invalid_request`. */
  finish(): void {
    if (this.#isEscaped || this.#carry.length === 1) throw this.#fault();
    this.#decode(this.#carry);
    this.#carry = "";
  }

  /** Row `i` of vectors of `dimension` numbers. */
  row(i: number, dimension: number): Float32Array {
    const begin = 4 * i * dimension;
    const end = begin + 4 * dimension;
    const first = Math.floor(begin / slabBytes);
    const offset = begin % slabBytes;
    if (offset + 4 * dimension <= slabBytes) {
      return new Float32Array(this.#slabs[first].buffer, offset, dimension);
    }
    const bytes = new Uint8Array(4 * dimension);
    for (let at = begin; at < end; at += slabBytes - (at % slabBytes)) {
      const slab = this.#slabs[Math.floor(at / slabBytes)];
      bytes.set(slab.subarray(at % slabBytes, (at % slabBytes) + end - at), at - begin);
    }
    return new Float32Array(bytes.buffer);
  }

  #decode(text: string): void {
    if (text === "") return;
    const padding = text.endsWith("==") ? 2 : text.endsWith("=") ? 1 : 0;
    const bytes = Buffer.from(text, "base64");
    // The decoder skips invalid characters, so the length reveals them.
    if (this.#isPadded || bytes.length !== Math.floor(((text.length - padding) * 3) / 4)) throw this.#fault();
    this.#isPadded = padding > 0;
    for (let at = 0; at < bytes.length;) {
      const offset = this.bytes % slabBytes;
      const part = bytes.subarray(at, at + slabBytes - offset);
      this.#slabFor(part.length, offset).set(part, offset);
      this.bytes += part.length;
      at += part.length;
    }
  }

  /** The slab for this many bytes at `offset`, sized exactly if the batch is short. */
  #slabFor(length: number, offset: number): Uint8Array {
    const isFirst = this.#slabs.length === 0;
    if (offset === 0) this.#slabs.push(new Uint8Array(isFirst ? length : slabBytes));
    const last = this.#slabs.length - 1;
    if (this.#slabs[last].length < offset + length) {
      const whole = new Uint8Array(slabBytes);
      whole.set(this.#slabs[last]);
      this.#slabs[last] = whole;
    }
    return this.#slabs[last];
  }

  /** Some JSON writers escape slashes, the only character of base64 for which that is usual. */
  #unescape(characters: Buffer): Buffer {
    if (!this.#isEscaped && !characters.includes(backslash)) return characters;
    const kept: number[] = [];
    for (const character of characters) {
      if (this.#isEscaped && character !== slash) throw this.#fault();
      this.#isEscaped = character === backslash;
      if (!this.#isEscaped) kept.push(character);
    }
    return Buffer.from(kept);
  }

  #fault(): Error {
    return invalid(`${this.#where}: expected base64`);
  }
}
