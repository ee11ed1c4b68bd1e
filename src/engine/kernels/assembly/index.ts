/**
 * The kernels, compiled to WebAssembly by scripts/build-kernels.mjs; ../kernels.ts documents each.
 *
 * AssemblyScript. Every parameter is a number: offsets into the imported memory, counts, thresholds. No
 * kernel keeps state, allocates, or reads beyond the rows it is given.
 */

export { addRows, gatherRows, halfSquares, meanRows } from "./cluster";
export { dotBlock, squaredL2Block, squaredL2Tile } from "./distance";
export { dotBlockWide, normsWide, squaredL2BlockWide } from "./distance-wide";
export { assignNearest } from "./nearest";
export { buildTable, rotateAndEncode, scanRabitq } from "./rabitq";
export { rotate } from "./rotate";
export { selectBelow } from "./select";
