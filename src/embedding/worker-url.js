// For tests, which run the sources. In the packages scripts/build.mjs puts a file of its own in this one's place.
export function workerUrl() {
  return new URL("../../dist/esm/embedding/inference-worker.js", import.meta.url);
}
