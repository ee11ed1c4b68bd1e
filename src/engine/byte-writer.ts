/** Bytes that grow. Integers take as few bytes as they need: seven bits per byte, lowest first (LEB128). */
export class ByteWriter {
  #bytes = new Uint8Array(4096);
  #length = 0;

  get length(): number {
    return this.#length;
  }

  /** `value`: an integer from 0 to 2^32 - 1. */
  varint(value: number): void {
    this.#reserve(5);
    let rest = value;
    while (rest >= 0x80) {
      this.#bytes[this.#length++] = (rest & 0x7f) | 0x80;
      rest >>>= 7;
    }
    this.#bytes[this.#length++] = rest;
  }

  byte(value: number): void {
    this.#reserve(1);
    this.#bytes[this.#length++] = value;
  }

  /** Adds bytes `start` to `end`, which are few. */
  addRange(bytes: Uint8Array, start: number, end: number): void {
    this.#reserve(end - start);
    for (let i = start; i < end; i++) this.#bytes[this.#length++] = bytes[i];
  }

  clear(): void {
    this.#length = 0;
  }

  /** The bytes written, valid until more are. */
  view(): Uint8Array {
    return this.#bytes.subarray(0, this.#length);
  }

  #reserve(bytes: number): void {
    const needed = this.#length + bytes;
    if (needed <= this.#bytes.length) return;
    const longer = new Uint8Array(Math.max(needed, 2 * this.#bytes.length));
    longer.set(this.view());
    this.#bytes = longer;
  }
}
