/**
 * Optional peer packages, loaded when a feature first needs them.
 *
 * Each `import()` is directly inside a `try` where the package is used, so that bundlers accept its
 * absence. The `catch` passes the error to `peerFailure`.
 */

import { SealdexError } from "../errors.js";
import { isError } from "./value-kinds.js";

export interface PeerPackage {
  readonly name: string;
  /** Supported versions, as npm writes them. */
  readonly range: string;
  /** The feature that needs the package, for messages. */
  readonly feature: string;
  /** Required exports that are classes or functions. */
  readonly exports: readonly string[];
}

/** The error for a failed import: `not_supported`, with the command to run and the reason. */
export function peerFailure(cause: unknown, peer: PeerPackage): SealdexError {
  if (cause instanceof SealdexError) return cause;
  const received = isMissing(cause, peer.name)
    ? "got none"
    : `got one that does not load (${reasonOf(cause)})`;
  return notSupported(peer, received, cause);
}

/**
 * Returns the package. Throws `not_supported` if an export is missing, as in another major version.
 * `module` is the result of `import()`; for CommonJS, some bundlers give only a default export,
 * which then has the others.
 */
export function checkPeer<T extends object>(module: T, peer: PeerPackage): T {
  const { default: whole } = module as { readonly default?: unknown };
  const missing = missingExports(module, peer);
  if (missing.length === 0) return module;
  if (missingExports(whole, peer).length === 0) return whole as T;
  throw notSupported(peer, `got a version without ${missing.join(", ")}`);
}

function missingExports(module: unknown, { exports }: PeerPackage): readonly string[] {
  const isThing = typeof module === "function" || (typeof module === "object" && module !== null);
  return exports.filter((name) => !isThing || typeof Reflect.get(module, name) !== "function");
}

function notSupported(
  { name, range, feature }: PeerPackage,
  received: string,
  cause?: unknown,
): SealdexError {
  return new SealdexError(
    "not_supported",
    `${feature}: expected the package ${name} ${range}, ${received}: npm install ${name}@"${range}"`,
    cause === undefined ? {} : { cause },
  );
}

/** Prefers codes: messages with a code contain local paths. */
function reasonOf(error: unknown): string {
  if (!isError(error)) return String(error);
  return typeof error.code === "string" ? error.code : error.message;
}

/**
 * As import(), require() and bundlers report it. A package that lacks a dependency of its own is
 * another problem.
 */
function isMissing(error: unknown, name: string): boolean {
  if (typeof error !== "object" || error === null) return false;
  const { code, message } = error as { code?: unknown; message?: unknown };
  const text = String(message);
  // Bundles of ES modules by ncc call a missing `require` for absent packages.
  if (text === "require is not defined") return true;
  const isNamed = text.includes(`'${name}'`) || text.includes(`"${name}"`);
  return isNamed && (/MODULE_NOT_FOUND/.test(String(code)) || /^(Cannot find|Could not resolve)/.test(text));
}
