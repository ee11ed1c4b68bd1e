// For tests, which run the sources. In the packages scripts/build.mjs puts a file of its own in this one's place.
export const workerUrl = new URL("../../dist/esm/embedding/inference-worker.js", import.meta.url);
