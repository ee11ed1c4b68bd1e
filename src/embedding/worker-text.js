// For tests, which run the sources. In the packages scripts/build.mjs puts a file of its own in this one's place.
export { ownPlace, workerText } from "../../dist/esm/embedding/worker-text.js";
