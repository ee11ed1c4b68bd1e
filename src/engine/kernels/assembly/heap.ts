/**
 * The k nearest of a stream of candidates: a bounded binary heap with the worst kept candidate at its root.
 *
 * Candidates are ordered by score, ascending, and among equal scores by a tie key of 128 bits: four little-endian words,
 * compared one after the other. So the result does not depend on the order in which candidates with distinct keys arrive.
 */

/** The head of a heap; its slots follow. */
@unmanaged
export class Heap {
  capacity: u32;
  size: u32;
  /** No greater score can still enter: Infinity until the heap is full, then the worst kept score; -Infinity if `capacity` is 0. */
  threshold: f64;
}

/** A kept candidate. */
@unmanaged
class HeapSlot {
  score: f64;
  block: u32;
  row: u32;
  /** The words of the tie key in two halves, each with the earlier word in its high bits. */
  tieHigh: u64;
  tieLow: u64;
}

/** Offers a candidate whose tie key's 16 bytes lie at `tie`. A NaN score is never kept. */
export function offer(heap: Heap, score: f64, block: u32, row: u32, tie: usize): void {
  if (!(score <= heap.threshold) || heap.capacity == 0) return;
  const high = wordsInOrder(tie);
  const low = wordsInOrder(tie + 8);
  if (heap.size < heap.capacity) siftUp(heap, heap.size++, score, block, row, high, low);
  else if (comesAfter(slotAt(heap, 0), score, high, low)) {
    siftDown(heap, score, block, row, high, low);
  }
  if (heap.size == heap.capacity) heap.threshold = slotAt(heap, 0).score;
}

/** Sorts the kept candidates in place, nearest first. The heap accepts no more offers. */
export function sortHeap(heap: Heap): void {
  const kept = heap.size;
  while (heap.size > 1) {
    const last = slotAt(heap, --heap.size);
    const score = last.score;
    const block = last.block;
    const row = last.row;
    const high = last.tieHigh;
    const low = last.tieLow;
    copySlot(heap, heap.size, 0);
    siftDown(heap, score, block, row, high, low);
  }
  heap.size = kept;
}

@inline
export function scoreAt(heap: Heap, position: u32): f64 {
  return slotAt(heap, position).score;
}

@inline
export function rowAt(heap: Heap, position: u32): u32 {
  return slotAt(heap, position).row;
}

/** Two words as one number with the same order as the pair. */
@inline
export function wordsInOrder(at: usize): u64 {
  return rotl<u64>(load<u64>(at), 32);
}

@inline
function slotAt(heap: Heap, position: u32): HeapSlot {
  return changetype<HeapSlot>(changetype<usize>(heap) + offsetof<Heap>() + <usize>position * offsetof<HeapSlot>());
}

@inline
function comesAfter(slot: HeapSlot, score: f64, high: u64, low: u64): bool {
  if (slot.score != score) return slot.score > score;
  return slot.tieHigh != high ? slot.tieHigh > high : slot.tieLow > low;
}

@inline
function fill(slot: HeapSlot, score: f64, block: u32, row: u32, high: u64, low: u64): void {
  slot.score = score;
  slot.block = block;
  slot.row = row;
  slot.tieHigh = high;
  slot.tieLow = low;
}

@inline
function copySlot(heap: Heap, to: u32, from: u32): void {
  // Not memory.copy, which is a call out of WebAssembly.
  const target = changetype<usize>(slotAt(heap, to));
  const source = changetype<usize>(slotAt(heap, from));
  v128.store(target, v128.load(source));
  v128.store(target + 16, v128.load(source + 16));
}

function siftUp(heap: Heap, position: u32, score: f64, block: u32, row: u32, high: u64, low: u64): void {
  while (position > 0) {
    const parent = (position - 1) >>> 1;
    if (comesAfter(slotAt(heap, parent), score, high, low)) break;
    copySlot(heap, position, parent);
    position = parent;
  }
  fill(slotAt(heap, position), score, block, row, high, low);
}

/** Puts a candidate in place of the root. */
function siftDown(heap: Heap, score: f64, block: u32, row: u32, high: u64, low: u64): void {
  let position: u32 = 0;
  for (;;) {
    let child: u32 = 2 * position + 1;
    if (child >= heap.size) break;
    if (child + 1 < heap.size) {
      const right = slotAt(heap, child + 1);
      const left = slotAt(heap, child);
      child += <u32>comesAfter(right, left.score, left.tieHigh, left.tieLow);
    }
    if (!comesAfter(slotAt(heap, child), score, high, low)) break;
    copySlot(heap, position, child);
    position = child;
  }
  fill(slotAt(heap, position), score, block, row, high, low);
}
