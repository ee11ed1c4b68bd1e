/**
 * Bodies of errors. The interface's own is `{ status_code, detail }`, and for 422 a list of what is wrong and where, as
 * generated clients decode them: some refuse a field that they do not know. Sealdex's client asks for the code as well.
 */

import { type ErrorCode, isErrorCode, SealdexError } from "../errors.js";
import { codeOfStatus, statusOfCode, toLibraryMessage, toWireMessage } from "./errors.js";

/** In `Accept`, it asks for errors as `ErrorBody`. */
export const mediaType = "application/vnd.sealdex+json";

export interface ErrorBody {
  readonly status_code: number;
  readonly code: ErrorCode;
  readonly detail: string;
}

/** `status`: if it says more than the code's own, such as 413. */
export function encodeError({ code, message }: SealdexError, status = statusOfCode(code)): ErrorBody {
  return { status_code: status, code, detail: toWireMessage(message) };
}

/** For clients that did not ask for codes; a response header says them. */
export function encodePlainError(error: SealdexError, status = statusOfCode(error.code)) {
  const { code, detail } = encodeError(error, status);
  return status === 422 ? { detail: [{ ...locate(detail), type: code }] } : { status_code: status, detail };
}

/** `items[3].id: expected …` as its place, part by part, and the rest. */
function locate(detail: string): { loc: (string | number)[]; msg: string } {
  const [, place, msg] = /^([\w$.[\]]+): (.+)$/s.exec(detail) ?? [];
  if (place === undefined) return { loc: ["body"], msg: detail };
  if (place === "querystring") return { loc: ["query"], msg };
  const parts = place.split(/[.[\]]+/).filter((part) => part !== "" && part !== "body");
  return { loc: ["body", ...parts.map((part) => (/^\d{1,9}$/.test(part) ? Number(part) : part))], msg };
}

/** The error that the library would have thrown; for bodies of other origin, what the status says. */
export function decodeError(status: number, body: unknown): SealdexError {
  const { code, detail } = (body ?? {}) as Partial<ErrorBody>;
  if (isErrorCode(code) && typeof detail === "string")
    return new SealdexError(code, toLibraryMessage(detail));
  const received = typeof detail === "string" ? `status ${status}: ${detail}` : `status ${status}`;
  return new SealdexError(codeOfStatus(status), `service: expected a result, got ${received}`);
}
