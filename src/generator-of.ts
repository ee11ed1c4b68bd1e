/** Generators, which by themselves would read their arguments only when the first item is asked for. */

/** What `make` returns, which is called now. What it throws is thrown to whoever asks for the first item. */
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
