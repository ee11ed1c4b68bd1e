/**
 * What a thread runs. As text, so that it needs no file of its own: it works the same from either build and from inside
 * a bundle. A reply is null, or what went wrong.
 */
export const workerSource = `
const { parentPort, workerData } = require("node:worker_threads");
const { exports } = new WebAssembly.Instance(workerData.module, { env: { memory: workerData.memory } });
parentPort.on("message", ({ kernel, args }) => {
  let failure = null;
  try {
    exports[kernel](...args);
  } catch (error) {
    failure = String(error);
  }
  parentPort.postMessage(failure);
});
`;
