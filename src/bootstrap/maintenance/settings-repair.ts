/** Repairs EventStoreDB stream settings that hide events (`store repair-settings`). */
import type { HidingSettingsReport } from "../../../adapters/eventstore/eventstoredb/settings-repair.ts"
import { CorruptStream, UnknownOutcome, WrongRevision } from "../../../adapters/eventstore/port.ts"
import { StartupFault } from "../../../adapters/machine/startup/port.ts"
import { OperatorRefused } from "../../frame/operator/operation.ts"
import type { SettingsRepair } from "../../storage/operate/store-commands.ts"
import { PROGRAM } from "../../slices.ts"
import type { Config } from "../settings/config.ts"
import { explainStartupFault } from "../open/startup-faults.ts"

/**
 * Returns the settings of a stream that hide its events, and removes them unless `isRemoving` is false. It uses only
 * the event store, so it works even if no server can start.
 *
 * @throws OperatorRefused if the stream cannot be repaired this way; StartupFault if the store is unreachable
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
      "LEDGER_EVENTSTORE_URL is not set, and the event store inside the database has no settings that hide " +
        "events. Set it as for the server, or restore the missing events from a backup.",
    )
  }
  if (!PROGRAM.streams.isOwn(stream)) {
    throw new OperatorRefused(
      "validation",
      `${stream} is not a stream of the ledger; nothing was changed. "doctor" and "audit verify" name the ` +
        "corrupt streams.",
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
  const { repairHidingSettings } =
    await import("../../../adapters/eventstore/eventstoredb/settings-repair.ts")
  return repairHidingSettings({ url }, stream, { dryRun: !isRemoving })
}

function explainRepairFault(
  error: unknown,
  stream: string,
  config: Pick<Config, "eventStoreUrl">,
): unknown {
  if (error instanceof CorruptStream) {
    return new OperatorRefused(
      "stream_corrupt",
      `${stream} was permanently deleted, which no setting can undo. Restore the missing events from a backup.`,
    )
  }
  if (error instanceof WrongRevision || error instanceof UnknownOutcome) {
    const message = `The settings of ${stream} may have changed meanwhile. Run the command again.`
    return new OperatorRefused("conflict", message)
  }
  if (error instanceof RangeError) {
    return new StartupFault(`LEDGER_EVENTSTORE_URL cannot be used: ${error.message}.`, error)
  }
  return explainStartupFault(error, config)
}
