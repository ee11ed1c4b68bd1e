/** The shapes of what operators and clients ask of the service as a whole. */

import { Type } from "typebox";
import { answers } from "./shapes.js";

export const metrics = {
  tags: ["service"],
  summary: "Metrics for Prometheus. Takes the API key as `Authorization: Bearer`, too.",
  response: { 200: Type.String() },
};

/** When an index is first trained without being asked, in items. */
const retrainThreshold = 10_000;

export const trainingStatus = {
  tags: ["indexes"],
  summary: "Which indexes this process of the service trains now. Without an API key, no index is named.",
  security: [],
  response: answers(
    Type.Object({
      training_indexes: Type.Array(Type.String()),
      currently_training: Type.Union([Type.String(), Type.Null()]),
      queued_indexes: Type.Array(Type.String(), { description: "Always empty." }),
      retrain_threshold: Type.Integer({
        description: "When an index is first trained without being asked, in items.",
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
  response: { 200: healthy },
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
  response: { 200: healthy },
};
