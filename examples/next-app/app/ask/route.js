import { join } from "node:path";
import { EncryptedVectorStore, fileKey } from "sealdex";

export const runtime = "nodejs";

// The index and its key stay outside of the app's folder: no build copies them.
const folder = process.env.HANDBOOK_FOLDER ?? "..";
const store = new EncryptedVectorStore("default", {
  indexName: "handbook",
  indexKey: fileKey(join(folder, "handbook.key")),
  indexLocation: { location: "local", path: join(folder, "data") },
});

export async function POST(request) {
  const question = (await request.text()).trim();
  if (question === "") return new Response("expected a question", { status: 400 });
  const found = await store.similaritySearch(question, 3);
  return Response.json(found.map(({ id, pageContent, metadata }) => ({ id, pageContent, metadata })));
}
