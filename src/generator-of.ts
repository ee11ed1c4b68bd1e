/** Generators that read their arguments at the call instead of at the first item. */

/** Calls `make` now. Its errors are thrown when the first item is requested. */
export function generatorOf<I>(
  make: () => AsyncGenerator<I, void, undefined>,
): AsyncGenerator<I, void, undefined> {
  try {
    return make();
  } catch (error) {
    return failing(error);
  }
}

// oxlint-disable-next-line require-yield
async function* failing<I>(error: unknown): AsyncGenerator<I, void, undefined> {
  throw error;
}
