/**
 * The outputs of commands are named pipes, not Node's socket pairs, so that a command can open them
 * again, as `echo > /dev/stderr` does. The name is removed before the command starts.
 */
import { execFile } from "node:child_process"
import { constants, openSync, readdirSync, unlinkSync } from "node:fs"
import { Socket } from "node:net"
import { join } from "node:path"
import { promisify } from "node:util"

const { O_NONBLOCK, O_RDONLY, O_WRONLY } = constants

/** Created by one program: creating one takes as long as a command. */
const BATCH_SIZE = 24
/** More are created when this few are left. */
const LOW_WATER_MARK = 4

export interface OutputPipe {
  /** The command's end, which the agent closes after starting the command. */
  readonly writeEnd: number
  readonly readEnd: Socket
}

export interface PipePool {
  readonly takePipe: () => Promise<OutputPipe>
}

/** Opens a pool in a folder that only the agent writes to; existing pipes are used first. */
export function openPipePool(folder: string): PipePool {
  const ready = readdirSync(folder).map((name) => join(folder, name))
  let createdCount = 0
  let creating: Promise<void> | null = null

  const createBatch = async (): Promise<void> => {
    const paths = Array.from({ length: BATCH_SIZE }, (_, index) =>
      join(folder, String(createdCount + index)),
    )
    createdCount += BATCH_SIZE
    await promisify(execFile)("mkfifo", ["-m", "600", ...paths])
    ready.push(...paths)
  }
  const ensureBatch = (): Promise<void> =>
    (creating ??= createBatch().finally(() => (creating = null)))
  const takePath = async (): Promise<string> => {
    while (ready.length === 0) await ensureBatch()
    if (ready.length < LOW_WATER_MARK) void ensureBatch()
    return ready.pop() ?? takePath()
  }

  return {
    takePipe: async () => {
      const path = await takePath()
      // Open the reader first without blocking, so that opening the writer does not block either.
      const ours = openSync(path, O_RDONLY | O_NONBLOCK)
      const writeEnd = openSync(path, O_WRONLY)
      unlinkSync(path)
      return { writeEnd, readEnd: new Socket({ fd: ours, readable: true, writable: false }) }
    },
  }
}
