/** Showing again what the settings of a stream hide in a server of EventStoreDB. */
import type { HidingSettingsReport } from "../../../adapters/eventstore/eventstoredb/settings-repair.ts"
import { CorruptStream, UnknownOutcome, WrongRevision } from "../../../adapters/eventstore/port.ts"
import { StartupFault } from "../../../adapters/machine/startup/port.ts"
import { OperatorRefused } from "../../frame/operator/operation.ts"
import type { SettingsRepair } from "../../storage/operate/store-commands.ts"
import { PROGRAM } from "../../slices.ts"
import type { Config } from "../settings/config.ts"
import { explainStartupFault } from "../open/startup-faults.ts"

/**
 * Shows the settings of a stream that hide events of it, and removes them unless `isRemoving` is false. It
 * needs the event store alone, so that it works where no server can start.
 *
 * @throws OperatorRefused where there is nothing that could be repaired so; StartupFault where the store
 * cannot be reached
 */
export async function repairStreamSettings(
  config: Pick<Config, "eventStoreUrl">,
  stream: string,
  isRemoving: boolean,
): Promise<SettingsRepair> {
  const { eventStoreUrl: url } = config
  if (url === null) {
    throw new OperatorRefused(
      "conflict",
      "LEDGER_EVENTSTORE_URL is not set, and an event store inside the database has no settings that hide " +
        "events: set it as for the server, or restore what is missing from a backup.",
    )
  }
  if (!PROGRAM.streams.isOwn(stream)) {
    throw new OperatorRefused(
      "validation",
      `${stream} is no stream of the ledger, and nothing was changed. "doctor" and "audit verify" name the ` +
        "streams that are damaged.",
    )
  }
  const found = await repairSettingsAt(url, stream, isRemoving).catch((error: unknown) => {
    throw explainRepairFault(error, stream, config)
  })
  return { ok: found.firstRevision === 0, stream, ...found }
}

async function repairSettingsAt(
  url: string,
  stream: string,
  isRemoving: boolean,
): Promise<HidingSettingsReport> {
  const { removeHidingSettings } =
    await import("../../../adapters/eventstore/eventstoredb/settings-repair.ts")
  return removeHidingSettings({ url }, stream, isRemoving)
}

function explainRepairFault(
  error: unknown,
  stream: string,
  config: Pick<Config, "eventStoreUrl">,
): unknown {
  if (error instanceof CorruptStream) {
    return new OperatorRefused(
      "stream_damaged",
      `${stream} was deleted for good, which no setting undoes: restore what is missing from a backup.`,
    )
  }
  if (error instanceof WrongRevision || error instanceof UnknownOutcome) {
    const message = `The settings of ${stream} may have changed meanwhile: give the command again.`
    return new OperatorRefused("conflict", message)
  }
  if (error instanceof RangeError) {
    return new StartupFault(`LEDGER_EVENTSTORE_URL cannot be used: ${error.message}.`, error)
  }
  return explainStartupFault(error, config)
}
