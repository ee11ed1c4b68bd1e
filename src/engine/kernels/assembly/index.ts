/**
 * The kernels, compiled to WebAssembly by scripts/build-kernels.mjs; ../kernels.ts documents each.
 *
 * AssemblyScript. Every parameter is a number: offsets into the imported memory, counts, thresholds. No
 * kernel keeps state, allocates, or reads beyond the rows it is given.
 */

export { addRows, gatherRows, halfSquares, meanRows } from "./cluster";
export { encodeSigns, roundTable, signSums } from "./codes";
export { dotBlock, squaredL2Block, squaredL2Tile } from "./distance";
export { dotBlockWide, normsWide, squaredL2BlockWide } from "./distance-wide";
export { estimateNibbles, estimateProducts } from "./estimate";
export { fastScan, fastScanSmall } from "./fast-scan";
export { offer, sortHeap } from "./heap";
export { assignNearest } from "./nearest";
export { offerEstimates } from "./offer-estimates";
export { measureQuery, rotateQuery } from "./prepare-query";
export { buildTable, encodeRabitq, estimateRabitq, rotateAndEncode } from "./rabitq";
export { rotate, rotateBack } from "./rotate";
export { scanFlat, scanFlatEach } from "./scan-flat";
export { probeLists, searchLists } from "./search-lists";
