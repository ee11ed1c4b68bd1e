/** Counts calls of kernels on this thread. Import it before the first of them is made. */

type Kernel = (...args: unknown[]) => unknown;

let calls: string[] = [];
let onCall: (name: string) => unknown = () => {};

/** As the platform's, but calls of what it exports are counted. */
class CountingInstance extends WebAssembly.Instance {
  override readonly exports: WebAssembly.Exports;

  constructor(module: WebAssembly.Module, imports?: WebAssembly.Imports) {
    super(module, imports);
    const counted = Object.entries(super.exports).map(([name, value]) => [
      name,
      typeof value === "function" ? counting(name, value as Kernel) : value,
    ]);
    this.exports = Object.fromEntries(counted) as WebAssembly.Exports;
  }
}
WebAssembly.Instance = CountingInstance;

function counting(name: string, kernel: Kernel): Kernel {
  return (...args) => {
    calls.push(name);
    onCall(name);
    return kernel(...args);
  };
}

/** How often `work` calls each kernel. `during` is told of each call before it is made. */
export async function kernelCalls(
  work: () => Promise<unknown>,
  during: (name: string) => unknown = () => {},
): Promise<Record<string, number>> {
  calls = [];
  onCall = during;
  await work();
  onCall = () => {};
  const counts: Record<string, number> = {};
  for (const name of calls) counts[name] = (counts[name] ?? 0) + 1;
  return counts;
}
