/** Where something stands in a push, for the person who pushed it. */
import type { NewObject, Push } from "../../adapters/git/port.ts"

/** A line of an object: those of a commit's or a tag's header and message are counted apart, from 1. */
export interface PlacedLine {
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
