import { run } from "../../../run.mjs";

export const dynamic = "force-dynamic";

export async function GET() {
  return Response.json(await run());
}
