/**
 * `GET /v1/indexes/training-status`: the indexes in training, in all processes. Published clients
 * send no API key; the response then names no index.
 */

import type { Server } from "../http/http-server.js";
import { mayUseIndex } from "../access/caller.js";
import type { Siblings } from "../processes/siblings.js";
import * as schemas from "../schemas/operations.js";
import type { Trainings } from "../indexes/trainings.js";

const topic = "trainings";

export function addTrainingStatusRoute(app: Server, trainings: Trainings, siblings: Siblings): void {
  siblings.whenAsked(topic, () => trainings.running);
  const options = { schema: schemas.trainingStatus, config: { isKeyOptional: true } };
  app.get("/v1/indexes/training-status", options, async ({ caller }) => {
    if (caller === undefined) return schemas.encodeTrainingStatus([]);
    const others = (await siblings.ask(topic)) as string[][];
    const names = new Set([...trainings.running, ...others.flat()]);
    return schemas.encodeTrainingStatus([...names].filter((name) => mayUseIndex(caller, name)));
  });
}
