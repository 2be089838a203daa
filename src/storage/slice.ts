/** An installation as a whole: saved, restored, and moved to another event store. */
import type { Slice } from "../frame/slice.ts"
import { backupOperations, streamReleaseOperations } from "./operate/backup.ts"
import { storeCommands, repairSettingsCommand } from "./operate/store-commands.ts"

/** Moving an installation. */
export const storageSlice: Slice = {
  name: "storage",
  commands: [
    storeCommands.copyStore,
    repairSettingsCommand,
    ...streamReleaseOperations,
    ...backupOperations,
    storeCommands.restore,
  ],
  topics: { store: "the event store" },
}
