/**
 * The kernels, compiled to WebAssembly by scripts/build-kernels.mjs; ../kernels.ts documents each.
 *
 * AssemblyScript. Every parameter is a number: offsets into the imported memory, counts, thresholds. No
 * kernel keeps state, allocates, or reads beyond the rows it is given.
 */

export { dotBlock, squaredL2Block } from "./distance";
export { dotBlockWide, normsWide, squaredL2BlockWide } from "./distance-wide";
export { fastScan, fastScanSmall } from "./fast-scan";
export { offer, sortHeap } from "./heap";
export { assignNearest } from "./nearest";
export { measureQuery, rotateQuery } from "./prepare-query";
export { buildTable, encodeRabitq, estimateRabitq } from "./rabitq";
export { rotate } from "./rotate";
export { scanFlat } from "./scan-flat";
