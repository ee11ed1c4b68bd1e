/** The ends of calls that may fail. */

import { expect } from "vitest";
import { type ErrorCode, SealdexError } from "../src/errors.js";

/** The code of the error, its text if it is none of the library's, or "done". */
export function codeOf(call: Promise<unknown>): Promise<string> {
  return call.then(
    () => "done",
    (error: unknown) => (error instanceof SealdexError ? error.code : String(error)),
  );
}

/** The error of a call that must fail. */
export async function failure(call: Promise<unknown>): Promise<SealdexError> {
  const error = await call.then(
    () => undefined,
    (reason: unknown) => reason,
  );
  expect(error).toBeInstanceOf(SealdexError);
  return error as SealdexError;
}

/** An error as matchers want it: its code, and a part or the form of its message. */
export function refusal(code: ErrorCode, message: string | RegExp): { code: ErrorCode; message: string } {
  const form =
    typeof message === "string" ? expect.stringContaining(message) : expect.stringMatching(message);
  return { code, message: form as string };
}
