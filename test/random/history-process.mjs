// Another process of a random history: makes the calls that it is sent, on the index that it was told to open. Uses the build.

import { createClient } from "sealdex/core";

let client;
let index;
const calls = {
  async open({ location, address }) {
    await client?.close();
    client = createClient({ indexLocation: location, automaticTraining: false });
    index = await client.loadIndex(address);
  },
  close: () => client.close(),
};

process.on("message", (message) => void answer(message));

async function answer({ number, method, args }) {
  try {
    const value = await (method in calls ? calls[method](...args) : index[method](...args));
    process.send({ number, value });
  } catch (error) {
    process.send({ number, error: { code: error.code, message: error.message } });
  }
}
