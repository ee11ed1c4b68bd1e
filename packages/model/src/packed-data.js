// For tests, which run the sources. In the package scripts/build-model-data.mjs puts a file of its own in this one's place.
export { parts, tokenCount } from "../dist/packed-data.js";
