/**
 * The packages that only some features need: optional peers, loaded when such a feature is first used.
 *
 * Each `import()` stands directly inside a `try`, where the package is used: a bundler then accepts that the package is not
 * installed. Such a call passes what it caught to `peerFailure`.
 */

import { SealdexError } from "./errors.js";
import { isError } from "./value-kinds.js";

export interface PeerPackage {
  readonly name: string;
  /** The versions that work, as npm writes them. */
  readonly range: string;
  /** What needs the package, for messages. */
  readonly feature: string;
  /** Exports that are classes or functions. */
  readonly exports: readonly string[];
}

/** The error to throw when importing the package failed: `not_supported`, with the command to run and the reason. */
export function peerFailure(cause: unknown, peer: PeerPackage): SealdexError {
  if (cause instanceof SealdexError) return cause;
  const received = isMissing(cause, peer.name)
    ? "got none"
    : `got one that does not load (${reasonOf(cause)})`;
  return notSupported(peer, received, cause);
}

/**
 * The package itself. Throws `not_supported` unless it exports what is needed, as another major version of it may not.
 * `module`: what `import()` gave. Of CommonJS some bundlers show the default export alone, which then has the others.
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

/** A code if there is one: messages with a code name files of this machine. */
function reasonOf(error: unknown): string {
  if (!isError(error)) return String(error);
  return typeof error.code === "string" ? error.code : error.message;
}

/** As import(), require() and the bundlers report it. A package that is installed and lacks one of its own is another matter. */
function isMissing(error: unknown, name: string): boolean {
  if (typeof error !== "object" || error === null) return false;
  const { code, message } = error as { code?: unknown; message?: unknown };
  const text = String(message);
  // ncc's bundles of ES modules ask a `require` that is not there for what was not installed.
  if (text === "require is not defined") return true;
  const isNamed = text.includes(`'${name}'`) || text.includes(`"${name}"`);
  return isNamed && (/MODULE_NOT_FOUND/.test(String(code)) || /^(Cannot find|Could not resolve)/.test(text));
}
