import { copyFile, open, stat, truncate } from "node:fs/promises"
import { errorCode } from "../../machine/startup/port.ts"
import { orMissing } from "./folder.ts"

/** A log longer than this is put aside as `postgres.log.1`, in place of the one before. */
const LONGEST_LOG_BYTES = 10_000_000

/** How much of the log's end is looked at for its last lines. */
const TAIL_BYTES = 65_536

/**
 * Puts a log that has grown too long aside. PostgreSQL keeps writing to the same open file, which
 * it opened for appending, so the file is copied and cut and never renamed.
 */
export async function boundLog(path: string): Promise<void> {
  if ((await logLength(path)) <= LONGEST_LOG_BYTES) return
  await copyFile(path, `${path}.1`)
  await truncate(path)
}

/** The log's length in bytes; 0 when there is none. */
export async function logLength(path: string): Promise<number> {
  return (await orMissing(() => stat(path)))?.size ?? 0
}

/**
 * The last `count` lines that were written after byte `from`. A log that cannot be read says so in
 * its only line, because these lines are asked for when something else has already gone wrong.
 */
export async function lastLines(path: string, count: number, from = 0): Promise<string[]> {
  try {
    const file = await open(path, "r")
    try {
      const { size } = await file.stat()
      const start = Math.max(from, size - TAIL_BYTES, 0)
      const bytes = Buffer.alloc(Math.max(size - start, 0))
      const { bytesRead } = await file.read(bytes, 0, bytes.length, start)
      const lines = bytes.toString("utf8", 0, bytesRead).split("\n")
      return lines.filter((line) => line !== "").slice(-count)
    } finally {
      await file.close()
    }
  } catch (error) {
    return [`(${path} cannot be read: ${errorCode(error) ?? String(error)})`]
  }
}
