/** Values that a query computes once for codes without vectors, of `ivf` and `ivfpq`: the tables that give the estimates of rows. */

import { roundTable, signSums } from "./codes";
import { dotBlock } from "./distance";
import { rotate } from "./rotate";
import { Query } from "./structs";

/** The kind of codes that a model's rows have: signs of rotated residuals if `rotated` is not 0, else numbers of codewords. */
@unmanaged
export class RowQuantizer {
  dimension: u32;
  /** float32: subtracted from queries, which reduces rounding. */
  origin: usize;
  /** Nibbles per row that are interleaved across rows (see ../../code-layout.ts); 0: the `rowBytes` of a row stay together. */
  nibbles: u32;
  rowBytes: u32;
  /** See `rotate`. */
  rotated: u32;
  signs: usize;
  span: u32;
  /** uint32: the component at each position of the subvectors, one after the other. */
  order: usize;
  /** float32, layout (subspaces, k, dimension / subspaces). */
  codewords: usize;
  subspaces: u32;
  k: u32;
  /** Of a codeword's number. */
  bits: u32;
  /** Codewords per nibble. */
  together: u32;
}

/** A query's tables, which follow it. It outlives its quantizer. */
@unmanaged
export class CodedQuery {
  nibbles: u32;
  rowBytes: u32;
  subspaces: u32;
  /** Entries of the table of a subspace: k, rounded up to a power of two. */
  stride: u32;
  bits: u32;
  /** float32, layout (subspaces, stride), zeros from k on. */
  products: usize;
  /** float32, layout (nibbles, 16), and the same rounded: to bytes, and to low bytes followed by high bytes. */
  entries: usize;
  coarse: usize;
  fine: usize;
  /** The scales of both, as `roundTable` writes them, divided by `root`. */
  coarseStep: f32;
  coarseShift: f32;
  fineStep: f32;
  fineShift: f32;
  root: f64;
  /** The distance to a reference centroid beyond which bytes suffice. */
  coarseFrom: f64;
  /** 1: `fine` has been made. */
  isFine: u32;
  /** 1: the reference centroids are the lists, so the bases of jobs count. */
  ownLists: u32;
  /** float32 squared distances of the reference centroids; none: only bases count. */
  squares: usize;
  nSquares: u32;
}

/** Rounding of the table, relative to the error of the code, above which entries of two bytes are worth a second pass. */
const roundingShare: f64 = 0.1;

@inline
function multipleOf16(bytes: usize): usize {
  return (bytes + 15) & ~15;
}

// After the struct, in this order: the centred query, entries, the coarse table, the two of the fine one, products.
@inline
function vectorOf(query: CodedQuery): usize {
  return changetype<usize>(query) + multipleOf16(offsetof<CodedQuery>());
}

@inline
function entriesOf(query: CodedQuery, quantizer: RowQuantizer): usize {
  return vectorOf(query) + multipleOf16(<usize>max<u32>(quantizer.dimension, quantizer.rotated) << 2);
}

@inline
function productsOf(query: CodedQuery, quantizer: RowQuantizer): usize {
  return entriesOf(query, quantizer) + 112 * <usize>quantizer.nibbles;
}

@inline
function strideOf(quantizer: RowQuantizer): u32 {
  const k = quantizer.k;
  return k <= 1 ? k : 1 << (32 - clz<u32>(k - 1));
}

/** Bytes of a `CodedQuery` with its tables. */
export function codedQueryBytes(quantizer: RowQuantizer): u32 {
  const products = <usize>(quantizer.subspaces * strideOf(quantizer)) << 2;
  return <u32>multipleOf16(productsOf(changetype<CodedQuery>(0), quantizer) + products);
}

/** Fills in the tables of a query. `point` is the query in list space. The reference centroids are the lists until the caller says otherwise. */
export function prepareCodes(point: Query, quantizer: RowQuantizer, query: CodedQuery): void {
  query.nibbles = quantizer.nibbles;
  query.rowBytes = quantizer.rowBytes;
  query.subspaces = quantizer.subspaces;
  query.stride = strideOf(quantizer);
  query.bits = quantizer.bits;
  query.entries = entriesOf(query, quantizer);
  query.coarse = query.entries + 64 * <usize>quantizer.nibbles;
  query.fine = query.coarse + 16 * <usize>quantizer.nibbles;
  query.products = productsOf(query, quantizer);
  query.isFine = 0;
  query.ownLists = 1;
  query.squares = 0;
  query.nSquares = 0;
  if (quantizer.rotated) prepareSigns(point, quantizer, query);
  else prepareProducts(point, quantizer, query);
}

function prepareSigns(point: Query, quantizer: RowQuantizer, query: CodedQuery): void {
  const vector = vectorOf(query);
  const rotated = quantizer.rotated;
  const bytes = <usize>quantizer.dimension << 2;
  for (let at: usize = 0; at < bytes; at += 4) {
    store<f32>(vector + at, load<f32>(point.vector + at) - load<f32>(quantizer.origin + at));
  }
  for (let at = bytes; at < <usize>rotated << 2; at += 4) store<f32>(vector + at, 0);
  rotate(vector, 1, rotated, quantizer.signs, quantizer.span);
  signSums(vector, query.nibbles, query.entries);
  query.root = sqrt<f64>(<f64>rotated);
  round(query, query.coarse, 0, changetype<usize>(query) + offsetof<CodedQuery>("coarseStep"));
  // Entries are rounded by up to half a step, uniformly; the error of a code is about 0.6 |q - a| / sqrt(D).
  const rounding = <f64>query.coarseStep * sqrt<f64>(<f64>query.nibbles / 12);
  query.coarseFrom = ((rounding / roundingShare) * query.root) / 0.6;
}

/** Makes the table of entries of two bytes, if it is not there yet. */
export function needFine(query: CodedQuery): void {
  if (query.isFine) return;
  const high = query.fine + 16 * <usize>query.nibbles;
  round(query, query.fine, high, changetype<usize>(query) + offsetof<CodedQuery>("fineStep"));
  query.isFine = 1;
}

/** As `roundTable`; `scale` is the address of step and shift. */
function round(query: CodedQuery, low: usize, high: usize, scale: usize): void {
  roundTable(query.entries, query.nibbles, low, high, scale);
  store<f32>(scale, <f32>(<f64>load<f32>(scale) / query.root));
  store<f32>(scale, <f32>(<f64>load<f32>(scale, 4) / query.root), 4);
}

/** -2 times the products of the query's subvectors with all codewords. */
function prepareProducts(point: Query, quantizer: RowQuantizer, query: CodedQuery): void {
  const vector = vectorOf(query);
  for (let i: usize = 0; i < <usize>quantizer.dimension << 2; i += 4) {
    const component = load<u32>(quantizer.order + i);
    if (component >= quantizer.dimension) unreachable();
    const at = <usize>component << 2;
    store<f32>(vector + i, -2 * (load<f32>(point.vector + at) - load<f32>(quantizer.origin + at)));
  }
  const width = quantizer.dimension / quantizer.subspaces;
  const k = quantizer.k;
  for (let subspace: u32 = 0; subspace < quantizer.subspaces; subspace++) {
    const skip = <usize>(subspace * width) << 2;
    const to = query.products + (<usize>(subspace * query.stride) << 2);
    dotBlock(vector + skip, quantizer.codewords + skip * k, k, width, to);
    memory.fill(to + (<usize>k << 2), 0, <usize>(query.stride - k) << 2);
  }
  if (query.nibbles) sumNibbles(quantizer, query);
}

/** Entries for the 16 values of each nibble, which may be several codewords: the sums of their products. */
function sumNibbles(quantizer: RowQuantizer, query: CodedQuery): void {
  query.root = 1;
  query.coarseFrom = Infinity;
  const k = quantizer.k;
  const bits = quantizer.bits;
  const together = quantizer.together;
  for (let nibble: u32 = 0; nibble < quantizer.nibbles; nibble++) {
    const first = nibble * together;
    const last = min<u32>(first + together, quantizer.subspaces);
    for (let value: u32 = 0; value < 16; value++) {
      let sum: f32 = 0;
      for (let subspace = first; subspace < last; subspace++) {
        const number = (value >> (bits * (subspace - first))) & ((1 << bits) - 1);
        // Values that no row has must not widen the range of the entries.
        sum += load<f32>(query.products + (<usize>(subspace * query.stride + (number < k ? number : 0)) << 2));
      }
      store<f32>(query.entries + (<usize>(16 * nibble + value) << 2), sum);
    }
  }
}
