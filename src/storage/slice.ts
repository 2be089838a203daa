/** An installation as a whole: saved, restored, and moved to another event store. */
import type { Slice } from "../frame/slice.ts"
import { backupOperations, releaseOperations } from "./operate/backup.ts"
import { moveCommands, repairSettings } from "./operate/move-commands.ts"

/** Moving an installation. */
export const storage: Slice = {
  name: "storage",
  operations: [
    moveCommands.copyStore,
    repairSettings,
    ...releaseOperations,
    ...backupOperations,
    moveCommands.restore,
  ],
  topics: { store: "the event store" },
}
