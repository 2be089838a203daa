/** Serving until it is to stop, and stopping in order. */
import { machinePacer } from "../../../adapters/machine/clock/database-clock.ts"
import type { Log } from "../../frame/kernel/log.ts"
import type { NamedCloser } from "../open/closers.ts"
import { closeInTime } from "../open/closers.ts"
import { lookup } from "node:dns/promises"
import { portFault } from "../../../adapters/machine/machine.ts"
import { StartupFault } from "../../../adapters/machine/startup/port.ts"
import type { Config } from "../settings/config.ts"

/** So much of a stop is for calls in hand. */
const CALLS_WITHIN_MS = 4_000
const STOP_WITHOUT_DATABASE_MS = 5_000

/** What is served from. */
interface ServerResources {
  /** Settles where the database ended and will not be back, with a sentence. */
  readonly databaseLost: Promise<string>
  /** Answers what could not be closed in time. */
  readonly close: (withinMs: number) => Promise<readonly string[]>
}

/** When it is to stop, and how soon. */
interface StopOptions {
  readonly log: Log
  /** Aborted when it is to stop. */
  readonly signal: AbortSignal
  /** What is not stopped by then is left. */
  readonly withinMs: number
}

/** What a work comes to; null where the signal was aborted first, and it ended for that. @throws what it throws */
export async function nullIfStopped<T>(
  signal: AbortSignal,
  work: () => Promise<T>,
): Promise<T | null> {
  try {
    return await work()
  } catch (error) {
    if (signal.aborted && error === signal.reason) return null
    throw error
  }
}

/**
 * Serves until the signal aborts, or the database is lost; closes what `serve` gave to be closed, and what
 * it served from.
 *
 * @returns the exit code: not 0 where something could not be brought to its end
 * @throws what `serve` throws
 */
export async function serveUntilStopped(
  served: ServerResources,
  { log, signal, withinMs }: StopOptions,
  serve: (closers: NamedCloser[]) => Promise<void>,
): Promise<number> {
  const stopped = Promise.withResolvers<number>()
  let stopWithinMs = withinMs
  const stop = () => stopped.resolve(0)
  signal.addEventListener("abort", stop)
  if (signal.aborted) stop()
  void served.databaseLost.then((sentence) => {
    log.warn(sentence, null)
    // Much waits for a database when it is closed, and this one will not be back as long as we are here.
    stopWithinMs = STOP_WITHOUT_DATABASE_MS
    stopped.resolve(1)
  })
  const closers: NamedCloser[] = []
  let code = 1
  let left: readonly string[] = []
  try {
    await serve(closers)
    code = await stopped.promise
  } finally {
    signal.removeEventListener("abort", stop)
    const until = machinePacer.elapsedMs() + stopWithinMs
    left = await closeInTime(closers, CALLS_WITHIN_MS)
    left = [...left, ...(await served.close(until - machinePacer.elapsedMs()))]
    log.info("stopped", { left: left.length })
    if (left.length > 0) log.warn(`stopped before all was done: ${left.join("; ")}`, null)
  }
  return left.length > 0 ? 1 : code
}

type ListenAddress = Pick<Config, "host" | "port">

/**
 * Looks whether a server could listen there, before anything is made for it. Somebody may take the port
 * right behind.
 *
 * @throws StartupFault where it could not
 */
export async function checkListenAddress({ host, port }: ListenAddress): Promise<void> {
  const code = await portFault(host, port)
  const sentence = code === null ? null : listenFaultText(code, { host, port })
  if (sentence !== null) throw new StartupFault(sentence)
}

/** Listens by `open`, which answers the URL of who listens there. @throws StartupFault where it cannot */
export async function listenAtAddress(
  { host, port }: ListenAddress,
  open: (at: ListenAddress) => Promise<string>,
): Promise<string> {
  try {
    return await open({ host: await resolveOneAddress(host), port })
  } catch (error) {
    const code = error instanceof Error && "code" in error ? String(error.code) : ""
    const sentence = listenFaultText(code, { host, port })
    throw sentence === null ? error : new StartupFault(sentence, error)
  }
}

/** What to do about a code of the system; null for one of which nothing is known. */
function listenFaultText(code: string, { host, port }: ListenAddress): string | null {
  if (code === "EADDRINUSE") {
    return (
      `Port ${port} on ${host} is taken: stop the program that uses it, or set PORT to another ` +
      "(0 picks a free one)."
    )
  }
  if (code === "EACCES") return `This user may not use port ${port}: set PORT to 1024 or more.`
  if (["EADDRNOTAVAIL", "ENOTFOUND", "EAI_AGAIN"].includes(code)) {
    return `This machine has no address ${host}: set HOST to one it has.`
  }
  return null
}

/**
 * The framework listens on both addresses of this name, and on the second one without the handlers
 * of the first, nor does it wait for the calls that came there when it stops.
 */
async function resolveOneAddress(host: string): Promise<string> {
  if (host !== "localhost") return host
  return (await lookup(host, { order: "ipv4first" })).address
}
