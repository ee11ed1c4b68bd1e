// For tests, which run the sources. scripts/build.mjs replaces this file in the packages.
export { ownPlace, workerText } from "../../dist/esm/embedding/worker-text.js";
