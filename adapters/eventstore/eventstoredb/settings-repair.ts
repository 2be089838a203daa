import { randomUUID } from "node:crypto"

import type { EventStoreDbOptions } from "./event-store.ts"
import type { StoredEvent } from "../port.ts"
import { CorruptStream, NO_STREAM } from "../port.ts"
import { EventStoreDbAppender } from "./appender.ts"
import { EventStoreDbConnection, STALE_AFTER_MS } from "./connection.ts"
import { EventStoreDbReader } from "./reader.ts"
import { HIDING_SETTINGS, settingsStream } from "./read-requests.ts"

const APPEND_TIMEOUT_MS = 3_000
const READ_TIMEOUT_MS = 1_500

/** What the settings of a stream hid, and what the stream shows by now. */
export interface HidingSettingsReport {
  /** The settings that hide events, by name, each as it was written. */
  readonly hiding: Readonly<Record<string, string>>
  /** Whether they were removed. */
  readonly isRemoved: boolean
  /** The first revision that the stream shows; null where it shows none. */
  readonly firstRevision: number | null
}

/**
 * Removes the settings of a stream that hide events of it, and leaves its other settings as they are. What
 * is hidden and was not scavenged is shown again.
 *
 * @param isRemoving false to look only
 * @throws RangeError where the address is wrong or the settings are no JSON object; Unavailable, AccessDenied
 * @throws CorruptStream where the stream was deleted for good; WrongRevision where others set it meanwhile;
 * UnknownOutcome
 */
export async function removeHidingSettings(
  { url }: Pick<EventStoreDbOptions, "url">,
  stream: string,
  isRemoving: boolean,
): Promise<HidingSettingsReport> {
  const connection = new EventStoreDbConnection({
    url,
    connectTimeoutMs: APPEND_TIMEOUT_MS,
    staleAfterMs: STALE_AFTER_MS,
    isOwnStream: () => true,
  })
  const reader = new EventStoreDbReader(connection, READ_TIMEOUT_MS)
  const appender = new EventStoreDbAppender(connection, APPEND_TIMEOUT_MS)
  try {
    const newest = await readFirstEvent(reader, settingsStream(stream), { direction: "backwards" })
    const settings = parseSettings(newest?.data ?? "{}")
    const hiding = Object.fromEntries(
      HIDING_SETTINGS.flatMap((name) =>
        name in settings ? [[name, rawSettingValue(newest?.data ?? "", name)]] : [],
      ),
    )
    const isRemoved = isRemoving && Object.keys(hiding).length > 0
    if (isRemoved) {
      const others = Object.entries(settings).filter(([name]) => !(name in hiding))
      const data = JSON.stringify(Object.fromEntries(others))
      const events = [{ id: randomUUID(), type: "$metadata", data, metadata: "" }]
      const expectedRevision = newest?.revision ?? NO_STREAM
      await appender.append(
        { stream: settingsStream(stream), events, expectedRevision },
        data.length,
      )
    }
    const isHidden = Object.keys(hiding).length > 0 && !isRemoved
    const first = await readFirstEvent(reader, stream, {}).catch((error: unknown) => {
      // Only looked at, a stream of which everything is hidden is what was asked about.
      if (isHidden && error instanceof CorruptStream) return null
      throw error
    })
    return { hiding, isRemoved, firstRevision: first?.revision ?? null }
  } finally {
    await appender.close()
    connection.close()
  }
}

/** The first event of a read; null where it gives none. */
async function readFirstEvent(
  reader: EventStoreDbReader,
  stream: string,
  range: Parameters<EventStoreDbReader["read"]>[1],
): Promise<StoredEvent | null> {
  for await (const [first] of reader.read(stream, { ...range, limit: 1 })) if (first) return first
  return null
}

/** @throws RangeError where they are no JSON object */
function parseSettings(data: string): Readonly<Record<string, unknown>> {
  const settings: unknown = JSON.parse(data === "" ? "{}" : data)
  if (typeof settings === "object" && settings !== null && !Array.isArray(settings)) {
    return settings as Record<string, unknown>
  }
  throw new RangeError("the settings of the stream are no JSON object")
}

/** A setting as it was written: what marks a deleted stream is larger than a number can be. */
function rawSettingValue(data: string, name: string): string {
  return new RegExp(`"\\${name}"\\s*:\\s*([^,}\\s]+)`).exec(data)?.[1] ?? ""
}
