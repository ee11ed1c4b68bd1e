/**
 * The kernels, in AssemblyScript, compiled to WebAssembly by scripts/build-kernels.mjs, which also generates the signatures,
 * constants and struct layouts that TypeScript sees.
 *
 * Every parameter is a number: offsets into the imported memory, counts, thresholds. Nothing is checked. No kernel keeps state,
 * allocates, or reads beyond its input unless its comment says so. Matrices are row-major float32, d from 1 and n from 0;
 * offsets are multiples of 4, of float64 multiples of 8. Arithmetic is IEEE 754: overflow of float32 becomes Infinity or
 * NaN, without a trap.
 *
 * The result of a row depends on the row, the query and d alone, bit for bit, not on n or on the row's position.
 */

export { assignCoded } from "./assign";
export { directions, gatherRows, halfSquares, meanRows, moveRows, scaleRows } from "./cluster";
export { codedQueryBytes, prepareCodes } from "./query-tables";
export { encodeSigns } from "./codes";
export { dotBlock, squaredL2Block } from "./distance";
export { normsFloat64, squaredL2BlockFloat64 } from "./distance";
export { fastScan, fastScanSmall, smallEntryMax } from "./fast-scan";
export { fitsFloat32 } from "./distance";
export { offer, sortHeap } from "./heap";
export { assignNearest } from "./assign";
export { measureQuery, rotateQuery } from "./prepare-query";
export { probeLists } from "./probe-lists";
export { buildTable, encodeRabitq, estimateRabitq, rabitqWithin, rotateAndEncode } from "./rabitq";
export { rotate, rotateBack } from "./rotate";
export { roundedBytes, roundedScratchBytes, roundRows, squaredL2Rounded } from "./rounded";
export { decodeScalar, encodeScalar } from "./scalar";
export { scanFlat } from "./scan-flat";
export { encodeSpilled, spilledRowBytes } from "./scan-secondary";
export { scratchRowsMin } from "./scan-together";
export { searchLists } from "./search-lists";
export { shareAround } from "./share-around";
export { chooseSecond } from "./spill";
export { waitingBytes } from "./scan-flat";
