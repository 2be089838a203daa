/** A server that somebody looks after: where it ends without being asked, it is started again. */
import type { ServerDataFolder, ServerProcess } from "../support/server-process.ts"
import type { OperationRunner } from "../support/company.ts"

/** A server under supervision. */
export interface SupervisedServer extends OperationRunner {
  /** Null while it is down. */
  readonly address: () => string | null
  readonly pid: () => number
  /** Kills it and resolves when it listens again. */
  readonly kill: () => Promise<void>
  /** How often it was started. */
  readonly startCount: () => number
  /** Asks it to stop; answers its exit code. */
  readonly stop: () => Promise<number | null>
}

/** Starts a server of a place and looks after it. */
export async function startSupervised(place: ServerDataFolder): Promise<SupervisedServer> {
  let server: ServerProcess | null = null
  let starts = 0
  let isStopping = false
  let up: Promise<void> = Promise.resolve()

  const start = async (): Promise<void> => {
    const started = await place.start()
    starts += 1
    server = started
    void started.ended.then(() => {
      server = null
      if (isStopping) return
      up = start()
      // Whoever waits for it is told; nobody may be waiting.
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
    operate: place.operate,
  }
}
