/**
 * The error class of Sealdex and its error codes.
 *
 * A code exists only if a caller would act differently. Messages are for people: they give the
 * expected and the received value, and the item. They never contain keys, vectors, texts or
 * metadata values.
 */

export const errorCodes = [
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

/** The reason for a failure; docs/errors.md describes each code. */
export type ErrorCode = (typeof errorCodes)[number];

/** For codes that come from outside. */
export function isErrorCode(value: unknown): value is ErrorCode {
  return (errorCodes as readonly unknown[]).includes(value);
}

/** Every failure that Sealdex reports. Distinguish failures by `code`, never by message. */
export class SealdexError extends Error {
  override readonly name = "SealdexError";
  readonly code: ErrorCode;

  constructor(code: ErrorCode, message: string, options?: ErrorOptions) {
    super(message, options);
    this.code = code;
  }

  /** Includes errors of the package's other build (`require` or `import`) and of other realms. */
  static override [Symbol.hasInstance](value: unknown): value is SealdexError {
    if (typeof value !== "object" || value === null) return false;
    return "name" in value && value.name === "SealdexError" && "code" in value && isErrorCode(value.code);
  }
}

/** Renames the place `items[i]` in an error about one batch. */
export function shiftPosition(error: unknown, placeOf: (i: number) => string): unknown {
  return renamePlace(error, /^items\[(\d+)\]/, (_, i) => placeOf(Number(i)));
}

/** Replaces the beginning of an error's message, which says where the error is, by the caller's name for it. */
export function renamePlace(
  error: unknown,
  place: RegExp,
  name: string | ((...matched: string[]) => string),
): unknown {
  if (!(error instanceof SealdexError)) return error;
  const message = error.message.replace(place, name as string);
  return message === error.message ? error : new SealdexError(error.code, message, { cause: error });
}
