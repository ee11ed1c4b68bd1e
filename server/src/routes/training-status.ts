/**
 * `GET /v1/indexes/training-status`: which indexes this process trains. Published clients send no API key with it; the answer
 * then names no index.
 */

import type { Server } from "../http-server.js";
import { mayUseIndex } from "../keys/caller.js";
import * as schemas from "../schemas/operations.js";
import type { Trainings } from "../trainings.js";

export function addTrainingStatusRoute(app: Server, trainings: Trainings): void {
  const options = { schema: schemas.trainingStatus, config: { isKeyOptional: true } };
  app.get("/v1/indexes/training-status", options, async ({ caller }) => {
    const names = caller === undefined ? [] : trainings.running.filter((name) => mayUseIndex(caller, name));
    return schemas.encodeTrainingStatus(names);
  });
}
