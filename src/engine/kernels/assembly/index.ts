/**
 * The kernels, compiled to WebAssembly by scripts/build-kernels.mjs; ../kernels.ts documents each.
 *
 * AssemblyScript. Every parameter is a number: offsets into the imported memory, counts, thresholds. No
 * kernel keeps state, allocates, or reads beyond the rows it is given.
 */

export { encodeSigns, roundTable, signSums } from "./codes";
export { dotBlock, squaredL2Block } from "./distance";
export { dotBlockWide, normsWide, squaredL2BlockWide } from "./distance-wide";
export { estimateNibbles, estimateProducts } from "./estimate";
export { assignNearest } from "./nearest";
export { buildTable, encodeRabitq, scanRabitq } from "./rabitq";
export { rotate, rotateBack } from "./rotate";
export { selectBelow } from "./select";
