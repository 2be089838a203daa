/** The message of a refused push: reason, locations and advice. */
import type { PushRefusalCode } from "../../domain/code/code-events.ts"
import type { PushedObject, IncomingPush } from "../../adapters/git/port.ts"
import type { CompanyId } from "../../domain/kernel/ids.ts"
import type { Cause } from "../frame/kernel/envelope.ts"

export interface PushRefusal {
  readonly code: PushRefusalCode
  /** One sentence. */
  readonly reason: string
  /** One line per location. */
  readonly locations: readonly string[]
  /** The next step for the person. */
  readonly advice: string
  /** Whether a key was revoked: its fact names the push, so the refusal must be recorded. */
  readonly hasSwitchedOffKey?: true
}

/** Maximum number of locations in a refusal; the next push shows the rest. */
export const MAX_LOCATIONS = 20

/** The message lines for the terminal. */
export function pushRefusalLines({ reason, locations, advice }: PushRefusal): readonly string[] {
  const shown = locations
    .slice(0, MAX_LOCATIONS)
    .map((location) => `  ${escapeNonPrintable(location)}`)
  const more = locations.length > MAX_LOCATIONS ? ["  and more"] : []
  return [reason, ...shown, ...more, advice]
}

/** Escapes characters that move the cursor or hide text, in texts of people that are shown to others. */
export function escapeNonPrintable(text: string): string {
  return text.replaceAll(
    /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Cs}]/gu,
    (one) => `\\u{${(one.codePointAt(0) ?? 0).toString(16)}}`,
  )
}

/** A line of an object; the header and the message of a commit or tag are counted separately, from 1. */
interface ObjectLine {
  readonly isHeader: boolean
  readonly line: number
}

/** Number of lines before the message of a commit or tag, with the empty line; 0 for other objects. */
export function headerLineCount(type: PushedObject["type"], bytes: Uint8Array): number {
  if (type !== "commit" && type !== "tag") return 0
  const all = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength)
  const end = all.indexOf("\n\n")
  return end === -1 ? Number.POSITIVE_INFINITY : lineNumberAt(all, end) + 1
}

/** Converts a line of the whole object into a line of its header or message. */
export function toObjectLine(line: number, before: number): ObjectLine {
  return line <= before ? { isHeader: before > 0, line } : { isHeader: false, line: line - before }
}

/** The line of a byte, from 1. */
export function lineNumberAt(bytes: Uint8Array, at: number): number {
  let line = 1
  for (let next = bytes.indexOf(10); next !== -1 && next < at; next = bytes.indexOf(10, next + 1)) {
    line += 1
  }
  return line
}

/** Describes an object for people. */
export async function describeObject(
  push: IncomingPush,
  { id, type }: Pick<PushedObject, "id" | "type">,
  isHeader = false,
): Promise<string> {
  const part = isHeader ? "header" : "message"
  switch (type) {
    case "commit":
      return `the ${part} of commit ${id.slice(0, 12)}`
    case "tag":
      return `the ${part} of a tag (${id.slice(0, 12)})`
    case "tree":
      return `a file name in folder ${id.slice(0, 12)}`
    case "blob":
      return (await push.findPath(id)) ?? `an unreferenced object (${id.slice(0, 12)})`
  }
}

export interface Pusher {
  readonly companyId: CompanyId
  /** `causeOf(caller)` for an API call. */
  readonly cause: Cause
}
