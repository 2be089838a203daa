/** The storage slice: backup, restore, migration and repair of an installation. */
import type { Slice } from "../frame/slice.ts"
import { backupOperations, streamReleaseOperations } from "./operate/backup.ts"
import { storeCommands, repairSettingsCommand } from "./operate/store-commands.ts"

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
