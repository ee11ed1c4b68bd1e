/** inference-worker.ts as a CommonJS script. The build writes one file per module format. */
export const workerText: string;

/**
 * The path or URL of this module, next to which packages are resolved. Undefined in some bundles.
 */
export function ownPlace(): string | undefined;
