/** Shapes for operators: health, training status. */

import { Type } from "typebox";
import { answers, failures } from "./shapes.js";

export const metrics = {
  tags: ["service"],
  summary: "Metrics for Prometheus. Takes the API key as Authorization: Bearer, too.",
  response: { ...failures, 200: { content: { "text/plain": { schema: Type.String() } } } },
};

/** Items at which an index is first trained automatically. */
const retrainThreshold = 10_000;

const optionalKey: Record<string, string[]>[] = [{ apiKey: [] }, {}];

export const trainingStatus = {
  tags: ["indexes"],
  summary: "Indexes in training. Without an API key, no index is named.",
  security: optionalKey,
  response: answers(
    Type.Object({
      training_indexes: Type.Array(Type.String()),
      currently_training: Type.Union([Type.String(), Type.Null()]),
      queued_indexes: Type.Array(Type.String(), { description: "Always empty." }),
      retrain_threshold: Type.Integer({
        description: "Items at which an index is first trained automatically.",
      }),
      worker_running: Type.Boolean(),
      worker_pid: Type.Integer({ description: "Always 0." }),
      global_training: Type.Object({}, { description: "Always empty." }),
    }),
  ),
};

export function encodeTrainingStatus(names: string[]) {
  return {
    training_indexes: names,
    currently_training: names.at(0) ?? null,
    queued_indexes: [],
    retrain_threshold: retrainThreshold,
    worker_running: names.length > 0,
    worker_pid: 0,
    global_training: {},
  };
}

const healthy = Type.Object({
  status: Type.String(),
  api_version: Type.String(),
  version: Type.String(),
});

export const live = {
  tags: ["service"],
  summary: "Whether the process responds. Needs no key.",
  security: [],
  response: answers(healthy),
};

export const ready = {
  tags: ["service"],
  summary:
    "Whether the service can serve requests now: 503 if its storage does not respond, or it stops. Needs no key.",
  security: [],
  response: answers(healthy),
};

export const health = {
  tags: ["service"],
  summary: "Whether the service is up. Needs no key.",
  security: [],
  response: answers(healthy),
};
