/**
 * Bodies of errors. The interface defines `{ status_code, detail }`, and for 422 a list of places,
 * as generated clients decode them; some refuse unknown fields. Sealdex's client asks for the code
 * too.
 */

import { type ErrorCode, isErrorCode, SealdexError } from "../errors.js";
import { codeOfStatus, statusOfCode, toLibraryMessage, toWireMessage } from "./errors.js";

/** In `Accept`, requests errors as `ErrorBody`. */
export const mediaType = "application/vnd.sealdex+json";

export interface ErrorBody {
  readonly status_code: number;
  readonly code: ErrorCode;
  readonly detail: string;
}

/** `status` overrides the code's own status, for example by 413. */
export function encodeError({ code, message }: SealdexError, status = statusOfCode(code)): ErrorBody {
  return { status_code: status, code, detail: toWireMessage(message) };
}

/** For clients that did not ask for codes, which a response header has. */
export function encodePlainError(error: SealdexError, status = statusOfCode(error.code)) {
  const { code, detail } = encodeError(error, status);
  return status === 422 ? { detail: [{ ...locate(detail), type: code }] } : { status_code: status, detail };
}

/** Splits `items[3].id: expected …` into the parts of its place and the rest. */
function locate(detail: string): { loc: (string | number)[]; msg: string } {
  const [, place, msg] = /^([\w$.[\]]+): (.+)$/s.exec(detail) ?? [];
  if (place === undefined) return { loc: ["body"], msg: detail };
  if (place === "querystring") return { loc: ["query"], msg };
  const parts = place.split(/[.[\]]+/).filter((part) => part !== "" && part !== "body");
  return { loc: ["body", ...parts.map((part) => (/^\d{1,9}$/.test(part) ? Number(part) : part))], msg };
}

/**
 * The error that the library would have thrown; for bodies of other origin, one made of the status.
 */
export function decodeError(status: number, body: unknown): SealdexError {
  const { code, detail } = (body ?? {}) as Partial<ErrorBody>;
  if (isErrorCode(code) && typeof detail === "string")
    return new SealdexError(code, toLibraryMessage(detail));
  const received = typeof detail === "string" ? `status ${status}: ${detail}` : `status ${status}`;
  return new SealdexError(codeOfStatus(status), `service: expected a result, got ${received}`);
}
