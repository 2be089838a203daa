/**
 * The outputs of commands are pipes with names, not the socket pairs that Node makes: a command can
 * then open them again, as `echo > /dev/stderr` does. A name is gone before its command begins.
 */
import { execFile } from "node:child_process"
import { constants, openSync, readdirSync, unlinkSync } from "node:fs"
import { Socket } from "node:net"
import { join } from "node:path"
import { promisify } from "node:util"

const { O_NONBLOCK, O_RDONLY, O_WRONLY } = constants

/** So many are made by one program: making one alone would take as long as the command. */
const BATCH_SIZE = 24
/** With so few left more are made. */
const LOW_WATER_MARK = 4

/** A pipe that a command writes into. */
export interface OutputPipe {
  /** The command's end, to be closed here once it has it. */
  readonly writeEnd: number
  readonly readEnd: Socket
}

/** Pipes, made ahead. */
export interface PipePool {
  readonly takePipe: () => Promise<OutputPipe>
}

/** Pipes with names in a folder that nobody else writes to; those that lie there are the first. */
export function openPipePool(folder: string): PipePool {
  const ready = readdirSync(folder).map((name) => join(folder, name))
  let made = 0
  let making: Promise<void> | null = null

  const make = async (): Promise<void> => {
    const paths = Array.from({ length: BATCH_SIZE }, (_, index) =>
      join(folder, String(made + index)),
    )
    made += BATCH_SIZE
    await promisify(execFile)("mkfifo", ["-m", "600", ...paths])
    ready.push(...paths)
  }
  const makeOnce = (): Promise<void> => (making ??= make().finally(() => (making = null)))
  const take = async (): Promise<string> => {
    while (ready.length === 0) await makeOnce()
    if (ready.length < LOW_WATER_MARK) void makeOnce()
    return ready.pop() ?? take()
  }

  return {
    takePipe: async () => {
      const path = await take()
      // The reader is first and does not wait for a writer; then the writer need not wait either.
      const ours = openSync(path, O_RDONLY | O_NONBLOCK)
      const writeEnd = openSync(path, O_WRONLY)
      unlinkSync(path)
      return { writeEnd, readEnd: new Socket({ fd: ours, readable: true, writable: false }) }
    },
  }
}
