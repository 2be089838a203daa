/**
 * Captures outputs in part. They are always read completely, so that no command blocks on a full
 * pipe.
 */
import { isUtf8 } from "node:buffer"
import type { Readable } from "node:stream"

export interface CapturedOutput {
  readonly pieces: readonly Buffer[]
  readonly bytes: number
  readonly isTruncated: boolean
}

/** Captures the beginning of an output; the returned function gives the part so far. */
export function captureBeginning(output: Readable, maxBytes: number): () => CapturedOutput {
  const pieces: Buffer[] = []
  let bytes = 0
  let isTruncated = false
  output.on("data", (chunk: Buffer) => {
    const remaining = maxBytes - bytes
    if (chunk.length > remaining) isTruncated = true
    if (remaining <= 0) return
    const kept = chunk.subarray(0, remaining)
    pieces.push(kept)
    bytes += kept.length
  })
  output.on("error", () => undefined)
  return () => ({ pieces: [...pieces], bytes, isTruncated })
}

/**
 * Captures the beginning and as much of the end, with a line between that says how many bytes are
 * missing.
 */
export function captureBeginningAndEnd(output: Readable, maxBytes: number): () => CapturedOutput {
  const beginning: Buffer[] = []
  let remaining = maxBytes
  const end = createTail(maxBytes)
  output.on("data", (chunk: Buffer) => {
    const first = chunk.subarray(0, remaining)
    remaining -= first.length
    if (first.length > 0) beginning.push(first)
    if (first.length < chunk.length) end.add(chunk.subarray(first.length))
  })
  output.on("error", () => undefined)
  return () => {
    const { dropped, newest } = end.soFar()
    const separator = dropped === 0 ? "" : `\n[${dropped} bytes were left out here]\n`
    const pieces = [...beginning, Buffer.from(separator), newest]
    const bytes = pieces.reduce((sum, { length }) => sum + length, 0)
    return { pieces, bytes, isTruncated: dropped > 0 }
  }
}

/** Keeps the newest bytes, and counts the dropped ones. */
function createTail(maxBytes: number) {
  let pieces: Buffer[] = []
  let bytes = 0
  let droppedBytes = 0
  return {
    add: (chunk: Buffer): void => {
      pieces.push(chunk)
      bytes += chunk.length
      // Not for every chunk, because this copies the kept bytes.
      if (bytes <= 2 * maxBytes) return
      const newest = Buffer.concat(pieces).subarray(-maxBytes)
      droppedBytes += bytes - newest.length
      pieces = [Buffer.from(newest)]
      bytes = newest.length
    },
    soFar: () => {
      const kept = Buffer.concat(pieces)
      const newest = kept.subarray(-maxBytes)
      return { newest, dropped: droppedBytes + kept.length - newest.length }
    },
  }
}

export interface CapturedText {
  readonly text: string
  /** Whether invalid UTF-8 was replaced with U+FFFD. */
  readonly hasInvalidUtf8: boolean
}

/** Captures the newest part of an output, after a line that says how many bytes were dropped. */
export function captureNewest(output: Readable, maxBytes: number): () => CapturedText {
  const tail = createTail(maxBytes)
  output.on("data", tail.add)
  output.on("error", () => undefined)
  return () => {
    const { dropped, newest } = tail.soFar()
    if (dropped === 0) return { text: newest.toString("utf8"), hasInvalidUtf8: !isUtf8(newest) }
    // The cut may have split a character.
    const complete = newest.subarray(partialCharacterBytes(newest))
    const notice = `[${dropped + newest.length - complete.length} bytes before this are no longer kept]\n`
    return { text: notice + complete.toString("utf8"), hasInvalidUtf8: !isUtf8(complete) }
  }
}

/** The number of leading bytes that belong to a character before the cut, at most 3. */
function partialCharacterBytes(bytes: Buffer): number {
  let count = 0
  while (count < 3 && ((bytes[count] ?? 0) & 0xc0) === 0x80) count += 1
  return count
}

/** Resolves when a stream has closed, with or without an error. */
export function waitForClose(output: Readable): Promise<void> {
  return new Promise((resolve) => {
    if (output.closed) return resolve()
    output.once("close", () => resolve())
  })
}
