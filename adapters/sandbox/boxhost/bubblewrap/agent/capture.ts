/** What is kept of an output. All of it is read, so that no command waits for a reader. */
import { isUtf8 } from "node:buffer"
import type { Readable } from "node:stream"

/** What is kept of an output. */
export interface CapturedOutput {
  readonly pieces: readonly Buffer[]
  readonly bytes: number
  readonly isTruncated: boolean
}

/** Keeps the beginning of an output; what is asked for is what came so far. */
export function captureBeginning(output: Readable, mostBytes: number): () => CapturedOutput {
  const pieces: Buffer[] = []
  let bytes = 0
  let isTruncated = false
  output.on("data", (piece: Buffer) => {
    const room = mostBytes - bytes
    if (piece.length > room) isTruncated = true
    if (room <= 0) return
    const kept = piece.subarray(0, room)
    pieces.push(kept)
    bytes += kept.length
  })
  output.on("error", () => undefined)
  return () => ({ pieces: [...pieces], bytes, isTruncated })
}

/** Keeps the beginning of an output and as much of its end, with a line between that says what is missing. */
export function captureBeginningAndEnd(output: Readable, mostBytes: number): () => CapturedOutput {
  const beginning: Buffer[] = []
  let room = mostBytes
  const end = createTail(mostBytes)
  output.on("data", (piece: Buffer) => {
    const first = piece.subarray(0, room)
    room -= first.length
    if (first.length > 0) beginning.push(first)
    if (first.length < piece.length) end.add(piece.subarray(first.length))
  })
  output.on("error", () => undefined)
  return () => {
    const { dropped, newest } = end.soFar()
    const between = dropped === 0 ? "" : `\n[${dropped} bytes were left out here]\n`
    const pieces = [...beginning, Buffer.from(between), newest]
    const bytes = pieces.reduce((sum, { length }) => sum + length, 0)
    return { pieces, bytes, isTruncated: dropped > 0 }
  }
}

/** The newest of what is added, and how much was before it. */
function createTail(mostBytes: number) {
  let pieces: Buffer[] = []
  let bytes = 0
  let droppedBytes = 0
  return {
    add: (piece: Buffer): void => {
      pieces.push(piece)
      bytes += piece.length
      // Not at each piece: what is kept is copied.
      if (bytes <= 2 * mostBytes) return
      const newest = Buffer.concat(pieces).subarray(-mostBytes)
      droppedBytes += bytes - newest.length
      pieces = [Buffer.from(newest)]
      bytes = newest.length
    },
    soFar: () => {
      const kept = Buffer.concat(pieces)
      const newest = kept.subarray(-mostBytes)
      return { newest, dropped: droppedBytes + kept.length - newest.length }
    },
  }
}

/** An output as text. */
export interface CapturedText {
  readonly text: string
  /** Whether bytes that are no UTF-8 are shown as U+FFFD. */
  readonly hasInvalidUtf8: boolean
}

/** Keeps the newest of an output, behind a line that says how much was before it. */
export function captureNewest(output: Readable, mostBytes: number): () => CapturedText {
  const tail = createTail(mostBytes)
  output.on("data", tail.add)
  output.on("error", () => undefined)
  return () => {
    const { dropped, newest } = tail.soFar()
    if (dropped === 0) return { text: newest.toString("utf8"), hasInvalidUtf8: !isUtf8(newest) }
    // The cut may have torn a character.
    const whole = newest.subarray(partialCharacterBytes(newest))
    const before = `[${dropped + newest.length - whole.length} bytes before this are no longer kept]\n`
    return { text: before + whole.toString("utf8"), hasInvalidUtf8: !isUtf8(whole) }
  }
}

/** How many bytes at the beginning belong to a character that began before, 3 at most. */
function partialCharacterBytes(bytes: Buffer): number {
  let count = 0
  while (count < 3 && ((bytes[count] ?? 0) & 0xc0) === 0x80) count += 1
  return count
}

/** Resolves when an output has ended, with or without an error. */
export function waitForClose(output: Readable): Promise<void> {
  return new Promise((resolve) => {
    if (output.closed) return resolve()
    output.once("close", () => resolve())
  })
}
