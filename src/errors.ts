/**
 * The one error class of Sealdex and its closed set of codes.
 *
 * A code exists only if a caller would act differently. The message is for people and says what was
 * expected, what was received, and which item. Messages never hold keys, vectors, texts or metadata values.
 */

const codes = [
  "invalid_request",
  "dimension_mismatch",
  "unauthenticated",
  "forbidden",
  "rate_limited",
  "not_found",
  "already_exists",
  "too_large",
  "wrong_index_key",
  "not_supported",
  "corrupt",
  "missing_object",
  "rollback_detected",
  "storage_unavailable",
  "overloaded",
  "model_loading",
  "model_unavailable",
  "internal",
] as const;

export type ErrorCode = (typeof codes)[number];

/** Whether `value` is one of Sealdex's error codes; for faces that receive a code from outside. */
export function isErrorCode(value: unknown): value is ErrorCode {
  return (codes as readonly unknown[]).includes(value);
}

/** Every failure that Sealdex reports. Tell failures apart by `code`, never by message. */
export class SealdexError extends Error {
  override readonly name = "SealdexError";
  readonly code: ErrorCode;

  constructor(code: ErrorCode, message: string, options?: ErrorOptions) {
    super(message, options);
    this.code = code;
  }

  /** An error of the other build of this package, for `require` or `import`, or of another realm is one as well. */
  static override [Symbol.hasInstance](value: unknown): value is SealdexError {
    if (typeof value !== "object" || value === null) return false;
    return "name" in value && value.name === "SealdexError" && "code" in value && isErrorCode(value.code);
  }
}

/** An error about `items[i]` of one batch, with another name for its place. */
export function shiftPosition(error: unknown, placeOf: (i: number) => string): unknown {
  if (!(error instanceof SealdexError)) return error;
  const message = error.message.replace(/^items\[(\d+)\]/, (_, i) => placeOf(Number(i)));
  return new SealdexError(error.code, message, { cause: error });
}
