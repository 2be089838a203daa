/** What is said to somebody whose push is refused: why, where, and how to go on. */
import type { PushRefusalCode } from "../../domain/code/code-events.ts"
import type { NewObject, Push } from "../../adapters/git/port.ts"
import type { CompanyId } from "../../domain/kernel/ids.ts"
import type { Cause } from "../frame/kernel/envelope.ts"

/** A push is refused. */
export interface RefusedPush {
  readonly code: PushRefusalCode
  /** A sentence. */
  readonly why: string
  /** Each a line of what it is about. */
  readonly places: readonly string[]
  /** What to do about it. */
  readonly next: string
  /** Whether a key was switched off for it: that fact names the push, so its refusal is one, too. */
  readonly hasSwitchedOff?: true
}

/** So many places are told: whoever has more goes on when these are mended. */
export const MOST_PLACES = 20

/** The lines for the terminal. */
export function linesOf({ why, places, next }: RefusedPush): readonly string[] {
  const shown = places.slice(0, MOST_PLACES).map((place) => `  ${inOneLine(place)}`)
  const more = places.length > MOST_PLACES ? ["  and more"] : []
  return [why, ...shown, ...more, next]
}

/** People's words in a line for people: what would move a cursor or hide a letter is written as its code. */
export function inOneLine(text: string): string {
  return text.replaceAll(
    /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Cs}]/gu,
    (one) => `\\u{${(one.codePointAt(0) ?? 0).toString(16)}}`,
  )
}

/** A line of an object: those of a commit's or a tag's header and message are counted apart, from 1. */
interface PlacedLine {
  readonly isHeader: boolean
  readonly line: number
}

/** How many lines stand before the message of a commit or a tag, the empty one included; 0 in what has none. */
export function headLines(type: NewObject["type"], bytes: Uint8Array): number {
  if (type !== "commit" && type !== "tag") return 0
  const all = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength)
  const end = all.indexOf("\n\n")
  return end === -1 ? Number.POSITIVE_INFINITY : lineAt(all, end) + 1
}

/** The line of a whole object as people count it. */
export function placedLine(line: number, before: number): PlacedLine {
  return line <= before ? { isHeader: before > 0, line } : { isHeader: false, line: line - before }
}

/** In which line a byte stands, the first is 1. */
export function lineAt(bytes: Uint8Array, at: number): number {
  let line = 1
  for (let next = bytes.indexOf(10); next !== -1 && next < at; next = bytes.indexOf(10, next + 1)) {
    line += 1
  }
  return line
}

/** What it stands in. */
export async function placeOf(
  push: Push,
  { id, type }: Pick<NewObject, "id" | "type">,
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
      return (await push.pathOf(id)) ?? `an object that no commit has (${id.slice(0, 12)})`
  }
}

/** Who pushes. */
export interface Pusher {
  readonly companyId: CompanyId
  /** Of a call: `causeOf(caller)`. */
  readonly cause: Cause
}
