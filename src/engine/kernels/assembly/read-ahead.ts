/** Reads memory before it is needed, so that the waits for it overlap. */

const pageBytes: usize = 4096;

/** Reads one byte of each page from `first` to `last`, and returns the sum: without a use of it the reads would be left out. */
@inline
export function touchPages(first: usize, last: usize): u32 {
  let sum: u32 = 0;
  for (let at = first; at < last; at += pageBytes) sum += load<u8>(at);
  return sum + load<u8>(last);
}
