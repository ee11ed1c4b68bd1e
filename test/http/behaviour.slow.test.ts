import { createClient } from "../../src/client/client.js";
import { indexBehaviour } from "../behavior/behavior.js";
import { startService } from "./service.js";

indexBehaviour("over HTTP", async () => {
  const { baseUrl, apiKey, close } = await startService();
  return { client: createClient({ baseUrl, apiKey }), close };
});
