/** Logs of a publish's build and start, sealed and stored for thirty days. */
import { COMPANY_SUBJECT } from "../../adapters/sealing/port.ts"
import type { AppVersion } from "../../adapters/sandbox/preview-host/port.ts"
import type { PublishId } from "../../domain/publishing/ids.ts"
import type { Ports } from "../frame/ports.ts"

/** Retention of logs, milliseconds. */
export const LOG_RETENTION_MS = 30 * 24 * 3_600_000

const MAX_LOG_BYTES = 4 * 1024 * 1024

/** Source of a log. `start` is the release, or an app that failed to start. */
export type LogSource = "build" | "start"

const LOG_SOURCES: readonly LogSource[] = ["build", "start"]

const logBlobId = (publishId: PublishId, who: LogSource): string =>
  who === "build" ? `${publishId}-log` : `${publishId}-start-log`

/** Stores a log; it replaces an earlier one of the same source. */
export async function storeLog(
  { blobs }: Pick<Ports, "blobs">,
  { companyId, publishId }: AppVersion,
  who: LogSource,
  log: Uint8Array,
): Promise<void> {
  const blob = { companyId, subject: COMPANY_SUBJECT, blobId: logBlobId(publishId, who) }
  await blobs.delete(companyId, blob.blobId)
  await blobs.write(blob, piece(log), { maxBytes: MAX_LOG_BYTES })
}

async function* piece(bytes: Uint8Array): AsyncGenerator<Uint8Array> {
  yield bytes
}

/** Reads a log; null if there is none. @throws BlobCorrupt */
export async function readLog(
  { blobs }: Pick<Ports, "blobs">,
  { companyId, publishId }: AppVersion,
  who: LogSource,
): Promise<string | null> {
  const blob = await blobs.find(companyId, logBlobId(publishId, who))
  if (blob === null) return null
  const parts: Buffer[] = []
  for await (const one of blob.read()) parts.push(one)
  return toPrintableText(Buffer.concat(parts).toString("utf8"))
}

/** Deletes both logs, if they exist. */
export async function deleteLogs(
  { blobs }: Pick<Ports, "blobs">,
  { companyId, publishId }: AppVersion,
): Promise<void> {
  for (const who of LOG_SOURCES) await blobs.delete(companyId, logBlobId(publishId, who))
}

/** Escapes the control characters of a text, so that it cannot control a terminal. */
export function toPrintableText(text: string): string {
  return (
    text
      .replaceAll("\r\n", "\n")
      // Colors are removed.
      // oxlint-disable-next-line no-control-regex
      .replaceAll(/\u001b\[[0-9;]*m/g, "")
      .replaceAll(/[^\P{Cc}\n\t]/gu, (one) => `\\x${hex(one)}`)
  )
}

const hex = (one: string): string => (one.codePointAt(0) ?? 0).toString(16).padStart(2, "0")
