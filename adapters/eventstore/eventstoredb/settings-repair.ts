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

/** The settings of a stream that hide events, and what the stream shows now. */
export interface HidingSettingsReport {
  /** The settings that hide events, by name, with their value as it was written. */
  readonly hiding: Readonly<Record<string, string>>
  readonly isRemoved: boolean
  /** The first revision that the stream shows; null if it shows none. */
  readonly firstRevision: number | null
}

/**
 * Removes the settings of a stream that hide events, and keeps its other settings. Hidden events
 * that were not scavenged are visible again.
 *
 * @param dryRun true to report only
 * @throws RangeError if the connection string is invalid or the settings are not a JSON object;
 * Unavailable, AccessDenied
 * @throws CorruptStream if the stream was permanently deleted; WrongRevision if another writer
 * changed the settings meanwhile; UnknownOutcome
 */
export async function repairHidingSettings(
  { url }: Pick<EventStoreDbOptions, "url">,
  stream: string,
  { dryRun }: { readonly dryRun: boolean },
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
    const isRemoved = !dryRun && Object.keys(hiding).length > 0
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
      // In a report, a stream whose events are all hidden is an expected result.
      if (isHidden && error instanceof CorruptStream) return null
      throw error
    })
    return { hiding, isRemoved, firstRevision: first?.revision ?? null }
  } finally {
    await appender.close()
    connection.close()
  }
}

async function readFirstEvent(
  reader: EventStoreDbReader,
  stream: string,
  range: Parameters<EventStoreDbReader["read"]>[1],
): Promise<StoredEvent | null> {
  for await (const [first] of reader.read(stream, { ...range, limit: 1 })) if (first) return first
  return null
}

/** @throws RangeError if they are not a JSON object */
function parseSettings(data: string): Readonly<Record<string, unknown>> {
  const settings: unknown = JSON.parse(data === "" ? "{}" : data)
  if (typeof settings === "object" && settings !== null && !Array.isArray(settings)) {
    return settings as Record<string, unknown>
  }
  throw new RangeError("The settings of the stream are not a JSON object")
}

/** A setting as it was written: `$tb` of a deleted stream exceeds 2^53, so its text is kept. */
function rawSettingValue(data: string, name: string): string {
  return new RegExp(`"\\${name}"\\s*:\\s*([^,}\\s]+)`).exec(data)?.[1] ?? ""
}
