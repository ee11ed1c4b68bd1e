/** What the kernels of estimates.ts take, as WebAssembly has it: numbers alone. */
export interface EstimateKernels {
  readonly encodeSigns: (
    residuals: number,
    n: number,
    d: number,
    references: number,
    origins: number,
    signs: number,
    factors: number,
  ) => void;
  readonly signSums: (query: number, groups: number, entries: number) => void;
  readonly roundTable: (entries: number, groups: number, low: number, high: number, scale: number) => void;
  readonly estimateNibbles: (
    codes: number,
    n: number,
    groups: number,
    low: number,
    high: number,
    step: number,
    shift: number,
    factors: number,
    references: number,
    bases: number,
    base: number,
    sums: number,
    estimates: number,
  ) => void;
  readonly estimateProducts: (
    codes: number,
    n: number,
    rowBytes: number,
    parts: number,
    bits: number,
    tables: number,
    k: number,
    factors: number,
    references: number,
    bases: number,
    base: number,
    estimates: number,
  ) => void;
  readonly offerEstimates: (query: number, heap: number, job: number, estimates: number) => void;
}
