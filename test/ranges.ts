/** Ranges of whole blobs, for tests. */

/** Of any blob of a test. */
export const whole = { offset: 0, length: 2 ** 27 };

/** Of a small one: a store with retries waits longer for more bytes. */
export const beginning = { offset: 0, length: 4096 };
