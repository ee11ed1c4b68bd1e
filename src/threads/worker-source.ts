/**
 * Source of a thread, as text, so that it needs no file of its own and works from either build and
 * within bundles. A reply is null or an error. The source declares no name of a CommonJS wrapper
 * (`exports`, `module`): Bun and Deno run it inside one.
 */
export const workerSource = `
const { parentPort, workerData } = require("node:worker_threads");
const instance = new WebAssembly.Instance(workerData.module, { env: { memory: workerData.memory } });
parentPort.on("message", ({ kernel, args }) => {
  let failure = null;
  try {
    instance.exports[kernel](...args);
  } catch (error) {
    failure = String(error);
  }
  parentPort.postMessage(failure);
});
`;
