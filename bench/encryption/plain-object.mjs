// What crypto/sealed-object.js is replaced by to measure what encryption costs: the same names, and no key, tag or padding.

export const formatVersion = 2;
export const objectKinds = { keyset: 1, manifest: 2, model: 3, segment: 4, anchor: 5, wrapped: 6 };
export const headerBytes = 76;
export const pinBytes = headerBytes - 12;
export const tagBytes = 0;

export function onlyKey(key) {
  return { generation: 0, key: (generation) => (generation === 0 ? key : undefined) };
}

export class ObjectSealer {
  constructor(parents) {
    this.header = Buffer.alloc(headerBytes);
    this.header.writeUInt32BE(parents.generation, 8);
    this.blocks = 0;
  }
  seal(plaintext) {
    return Buffer.concat(this.sealPieces([plaintext]));
  }
  sealPieces(plaintext) {
    this.blocks++;
    return [...plaintext];
  }
}

export class ObjectOpener {
  open(_number, stored) {
    // Ciphers give bytes of their own, which may be written to and are aligned.
    return Buffer.from(stored);
  }
}

export function sealObject(parents, context, plaintext) {
  return Buffer.concat([new ObjectSealer(parents, context).header, plaintext]);
}

export function openObject(_parents, _context, bytes) {
  return Buffer.from(bytes.subarray(headerBytes));
}

export function generationOf(header) {
  return Buffer.from(header.buffer, header.byteOffset, header.length).readUInt32BE(8);
}

export function headerOf(_kind, generation, pin) {
  const header = Buffer.alloc(headerBytes);
  header.writeUInt32BE(generation, 8);
  header.set(pin, headerBytes - pinBytes);
  return header;
}

export function pinOf(header) {
  return header.subarray(headerBytes - pinBytes);
}
