import { closeSync, existsSync, openSync, readFileSync, truncateSync, writeSync } from "node:fs"

import type { Keeper, LogEvent, Stored } from "./log.ts"

/**
 * What a server stored, in a file, a line an append. It outlives a kill of the server's process, for
 * the machine has taken over what was written; it is no match for a power cut.
 */
export class Journal implements Keeper {
  readonly #path: string
  #file: number | null = null

  constructor(path: string) {
    this.#path = path
  }

  /** What is in it. A last line that was cut off is taken out: nobody was told that it is stored. */
  read(): readonly Stored[] {
    if (!existsSync(this.#path)) return []
    const bytes = readFileSync(this.#path)
    const end = bytes.lastIndexOf("\n") + 1
    if (end < bytes.length) truncateSync(this.#path, end)
    const lines = bytes.subarray(0, end).toString().split("\n")
    return lines.filter((line) => line !== "").map(entryOf)
  }

  /** Writes an entry; it is there when this returns. */
  write({ stream, events, commitsBehind, at }: Stored): void {
    this.#file ??= openSync(this.#path, "a")
    const kept = events.map((event) => ({
      ...event,
      data: Buffer.from(event.data).toString("base64"),
      metadata: Buffer.from(event.metadata).toString("base64"),
    }))
    const place = { commitsBehind: String(commitsBehind), at }
    const line = JSON.stringify({ stream, events: kept, ...place })
    writeSync(this.#file, `${line}\n`)
  }

  /** Writes no more. */
  close(): void {
    if (this.#file !== null) closeSync(this.#file)
    this.#file = null
  }
}

function entryOf(line: string): Stored {
  const { stream, events, commitsBehind, at } = JSON.parse(line) as {
    readonly stream: string
    readonly events: readonly (Omit<LogEvent, "data" | "metadata"> & {
      readonly data: string
      readonly metadata: string
    })[]
    readonly commitsBehind: string
    readonly at: number
  }
  const read = events.map((event) => ({
    ...event,
    data: Buffer.from(event.data, "base64"),
    metadata: Buffer.from(event.metadata, "base64"),
  }))
  return { stream, events: read, commitsBehind: BigInt(commitsBehind), at }
}
