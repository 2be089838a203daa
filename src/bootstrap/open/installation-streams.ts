/** Looking at the streams that no company owns: the price book is read by every start. */
import type { Checkpoints } from "../../../adapters/postgres/checkpoints/port.ts"
import type { EventStore } from "../../../adapters/eventstore/port.ts"
import { DamagedStream } from "../../../adapters/eventstore/port.ts"
import { loadStream } from "../../frame/writer/runner/load.ts"
import type { Streams } from "../../frame/writer/streams.ts"

/**
 * Loads each of them as a start does. Answers the faults of those that are not whole.
 *
 * @throws Unavailable, AccessDenied where the store cannot be read
 */
export async function damagedInstallationStreams(
  ports: { readonly store: EventStore; readonly checkpoints: Checkpoints },
  { ofInstallation }: Pick<Streams, "ofInstallation">,
): Promise<readonly DamagedStream[]> {
  const found: DamagedStream[] = []
  for (const { stream, aggregate } of ofInstallation) {
    try {
      await loadStream(ports, aggregate, stream)
    } catch (error) {
      if (!(error instanceof DamagedStream)) throw error
      found.push(error)
    }
  }
  return found
}

/** How a stream is repaired that the store does not show whole, as a part of a sentence. */
export function repairOf(
  { place: { stream } }: DamagedStream,
  { hidesBeginnings }: Pick<EventStore, "hidesBeginnings">,
): string {
  const restore = "restore what is missing from a backup"
  if (hidesBeginnings !== true) return restore
  return `show what its settings hide with \`company-ledger store repair-settings ${stream}\`, or ${restore}`
}
