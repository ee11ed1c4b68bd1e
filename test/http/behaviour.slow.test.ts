import { createClient } from "../../src/client/client.js";
import { indexBehaviour } from "../index/behaviour.js";
import { startService } from "./service.js";

indexBehaviour("over HTTP", async () => {
  const { baseUrl, apiKey, close } = await startService();
  return { client: createClient({ baseUrl, apiKey }), close };
});
