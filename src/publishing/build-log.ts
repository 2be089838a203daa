/** What the build of a publish wrote, and what its start did: kept for thirty days, sealed. */
import { COMPANY_SUBJECT } from "../../adapters/sealing/port.ts"
import type { AppVersion } from "../../adapters/sandbox/preview-host/port.ts"
import type { PublishId } from "../../domain/publishing/ids.ts"
import type { Ports } from "../frame/ports.ts"

/** How long it is kept, milliseconds. */
export const LOG_KEPT_MS = 30 * 24 * 3_600_000

const MOST_BYTES = 4 * 1024 * 1024

/** Whose words they are. `start`: of the release, or of an app that did not come up. */
export type Wrote = "build" | "start"

const ALL: readonly Wrote[] = ["build", "start"]

const logOf = (publishId: PublishId, who: Wrote): string =>
  who === "build" ? `${publishId}-log` : `${publishId}-start-log`

/** Keeps what one of them wrote, in the place of what one before it did. */
export async function keepLog(
  { blobs }: Pick<Ports, "blobs">,
  { companyId, publishId }: AppVersion,
  who: Wrote,
  log: Uint8Array,
): Promise<void> {
  const blob = { companyId, subject: COMPANY_SUBJECT, blobId: logOf(publishId, who) }
  await blobs.delete(companyId, blob.blobId)
  await blobs.write(blob, piece(log), { mostBytes: MOST_BYTES })
}

async function* piece(bytes: Uint8Array): AsyncGenerator<Uint8Array> {
  yield bytes
}

/** What one of them wrote; null where none is kept. @throws BlobDamaged */
export async function readLog(
  { blobs }: Pick<Ports, "blobs">,
  { companyId, publishId }: AppVersion,
  who: Wrote,
): Promise<string | null> {
  const blob = await blobs.find(companyId, logOf(publishId, who))
  if (blob === null) return null
  const parts: Buffer[] = []
  for await (const one of blob.read()) parts.push(one)
  return printable(Buffer.concat(parts).toString("utf8"))
}

/** Takes both away. None: nothing. */
export async function forgetLogs(
  { blobs }: Pick<Ports, "blobs">,
  { companyId, publishId }: AppVersion,
): Promise<void> {
  for (const who of ALL) await blobs.delete(companyId, logOf(publishId, who))
}

/** A text whose control characters do nothing to a terminal: they are shown as they are written in code. */
export function printable(text: string): string {
  return (
    text
      .replaceAll("\r\n", "\n")
      // Colours say nothing without a terminal.
      // oxlint-disable-next-line no-control-regex
      .replaceAll(/\u001b\[[0-9;]*m/g, "")
      .replaceAll(/[^\P{Cc}\n\t]/gu, (one) => `\\x${hex(one)}`)
  )
}

const hex = (one: string): string => (one.codePointAt(0) ?? 0).toString(16).padStart(2, "0")
