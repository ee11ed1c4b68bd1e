/** The jobs that commits make due, in the order in which they start: a training leaves nothing to merge. */

import { automaticTraining } from "./training/automatic-training.js";
import { mergeLarge } from "./maintenance/compact.js";
import { gcAfterCommit } from "./maintenance/gc.js";
import type { Job } from "./open/maintenance.js";
import type { OpenIndex } from "./open/open-index.js";

export function maintenanceJobs(index: OpenIndex, isTrained: boolean): readonly Job[] {
  const { log, maintenance } = index;
  const merging: Job = {
    name: "merge",
    isHeavy: true,
    isDue: () => log.known !== undefined && maintenance.isMergeDue("large", log.known.segments),
    run: (signal) => mergeLarge(index, signal),
  };
  const collection: Job = {
    name: "garbage collection",
    isHeavy: false,
    isDue: () => maintenance.isHistoryDue,
    run: (signal) => {
      maintenance.noteCollection();
      return gcAfterCommit(index, signal);
    },
  };
  return isTrained ? [automaticTraining(index), merging, collection] : [merging, collection];
}
