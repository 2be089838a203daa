/** What is kept of an output. All of it is read, so that no command waits for a reader. */
import type { Readable } from "node:stream"

/** Of an output the beginning. */
export interface Beginning {
  readonly pieces: readonly Buffer[]
  readonly bytes: number
  readonly isCut: boolean
}

/** Keeps the beginning of an output; what is asked for is what came so far. */
export function beginningOf(output: Readable, mostBytes: number): () => Beginning {
  const pieces: Buffer[] = []
  let bytes = 0
  let isCut = false
  output.on("data", (piece: Buffer) => {
    const room = mostBytes - bytes
    if (piece.length > room) isCut = true
    if (room <= 0) return
    const kept = piece.subarray(0, room)
    pieces.push(kept)
    bytes += kept.length
  })
  output.on("error", () => undefined)
  return () => ({ pieces: [...pieces], bytes, isCut })
}

/** Keeps the newest of an output, behind a line that says how much was before it. */
export function newestOf(output: Readable, mostBytes: number): () => string {
  let pieces: Buffer[] = []
  let bytes = 0
  let droppedBytes = 0
  output.on("data", (piece: Buffer) => {
    pieces.push(piece)
    bytes += piece.length
    // Not at each piece: what is kept is copied.
    if (bytes <= 2 * mostBytes) return
    const newest = Buffer.concat(pieces).subarray(-mostBytes)
    droppedBytes += bytes - newest.length
    pieces = [Buffer.from(newest)]
    bytes = newest.length
  })
  output.on("error", () => undefined)
  return () => {
    const kept = Buffer.concat(pieces)
    const newest = kept.subarray(-mostBytes)
    const dropped = droppedBytes + kept.length - newest.length
    const before = dropped === 0 ? "" : `[${dropped} bytes before this are no longer kept]\n`
    return before + newest.toString("utf8")
  }
}

/** Resolves when an output has ended, with or without an error. */
export function endOf(output: Readable): Promise<void> {
  return new Promise((resolve) => {
    if (output.closed) return resolve()
    output.once("close", () => resolve())
  })
}
