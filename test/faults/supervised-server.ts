/** A server under supervision: if it ends unexpectedly, it is restarted. */
import type { ServerDataFolder, ServerProcess } from "../support/server-process.ts"
import type { OperationRunner } from "../support/company.ts"

/** A server that is restarted after an unexpected end. */
export interface SupervisedServer extends OperationRunner {
  /** Null while it is down. */
  readonly address: () => string | null
  readonly pid: () => number
  /** Kills the process and resolves when the next one listens. */
  readonly kill: () => Promise<void>
  readonly startCount: () => number
  /** Stops the server. @returns its exit code */
  readonly stop: () => Promise<number | null>
}

/** Starts a server on a data folder and supervises it. */
export async function startSupervised(folder: ServerDataFolder): Promise<SupervisedServer> {
  let server: ServerProcess | null = null
  let starts = 0
  let isStopping = false
  let up: Promise<void> = Promise.resolve()

  const start = async (): Promise<void> => {
    const started = await folder.start()
    starts += 1
    server = started
    void started.ended.then(() => {
      server = null
      if (isStopping) return
      up = start()
      // `kill` awaits this promise; without a kill, no caller handles its rejection.
      up.catch(() => undefined)
    })
  }
  await start()
  const running = (): ServerProcess => {
    if (server === null) throw new Error("the server is down")
    return server
  }
  return {
    address: () => server?.url ?? null,
    pid: () => running().pid,
    startCount: () => starts,
    kill: async () => {
      await running().endBySignal("SIGKILL")
      await up
    },
    stop: async () => {
      isStopping = true
      return running().endBySignal("SIGTERM")
    },
    operate: folder.operate,
  }
}
