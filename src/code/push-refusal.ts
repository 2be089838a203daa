/** What is said to somebody whose push is refused: why, where, and how to go on. */
import type { PushRefusalCode } from "../../domain/code/code-events.ts"
import type { PushedObject, IncomingPush } from "../../adapters/git/port.ts"
import type { CompanyId } from "../../domain/kernel/ids.ts"
import type { Cause } from "../frame/kernel/envelope.ts"

/** A push is refused. */
export interface PushRefusal {
  readonly code: PushRefusalCode
  /** A sentence. */
  readonly reason: string
  /** Each a line of what it is about. */
  readonly locations: readonly string[]
  /** What to do about it. */
  readonly advice: string
  /** Whether a key was switched off for it: that fact names the push, so its refusal is one, too. */
  readonly hasSwitchedOffKey?: true
}

/** So many places are told: whoever has more goes on when these are mended. */
export const MAX_LOCATIONS = 20

/** The lines for the terminal. */
export function pushRefusalLines({ reason, locations, advice }: PushRefusal): readonly string[] {
  const shown = locations.slice(0, MAX_LOCATIONS).map((place) => `  ${escapeNonPrintable(place)}`)
  const more = locations.length > MAX_LOCATIONS ? ["  and more"] : []
  return [reason, ...shown, ...more, advice]
}

/** People's words in a line for people: what would move a cursor or hide a letter is written as its code. */
export function escapeNonPrintable(text: string): string {
  return text.replaceAll(
    /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Cs}]/gu,
    (one) => `\\u{${(one.codePointAt(0) ?? 0).toString(16)}}`,
  )
}

/** A line of an object: those of a commit's or a tag's header and message are counted apart, from 1. */
interface ObjectLine {
  readonly isHeader: boolean
  readonly line: number
}

/** How many lines stand before the message of a commit or a tag, the empty one included; 0 in what has none. */
export function headerLineCount(type: PushedObject["type"], bytes: Uint8Array): number {
  if (type !== "commit" && type !== "tag") return 0
  const all = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength)
  const end = all.indexOf("\n\n")
  return end === -1 ? Number.POSITIVE_INFINITY : lineNumberAt(all, end) + 1
}

/** The line of a whole object as people count it. */
export function toObjectLine(line: number, before: number): ObjectLine {
  return line <= before ? { isHeader: before > 0, line } : { isHeader: false, line: line - before }
}

/** In which line a byte stands, the first is 1. */
export function lineNumberAt(bytes: Uint8Array, at: number): number {
  let line = 1
  for (let next = bytes.indexOf(10); next !== -1 && next < at; next = bytes.indexOf(10, next + 1)) {
    line += 1
  }
  return line
}

/** What it stands in. */
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
      return `a file's name in folder ${id.slice(0, 12)}`
    case "blob":
      return (await push.findPath(id)) ?? `an object that no commit has (${id.slice(0, 12)})`
  }
}

/** Who pushes. */
export interface Pusher {
  readonly companyId: CompanyId
  /** Of a call: `causeOf(caller)`. */
  readonly cause: Cause
}
