/** Serves until a stop, and stops in order. */
import { machinePacer } from "../../../adapters/machine/clock/database-clock.ts"
import type { Log } from "../../frame/kernel/log.ts"
import type { NamedCloser } from "../open/closers.ts"
import { closeInTime } from "../open/closers.ts"
import { lookup } from "node:dns/promises"
import { portFault } from "../../../adapters/machine/machine.ts"
import { StartupFault } from "../../../adapters/machine/startup/port.ts"
import type { Config } from "../settings/config.ts"

/** The part of a stop that waits for calls in progress. */
const CALLS_WITHIN_MS = 4_000
const STOP_WITHOUT_DATABASE_MS = 5_000

interface ServerResources {
  /** Resolves with a sentence if the database ended and will not return. */
  readonly databaseLost: Promise<string>
  /** Returns what could not be closed in time. */
  readonly close: (withinMs: number) => Promise<readonly string[]>
}

interface StopOptions {
  readonly log: Log
  /** Aborted when the server must stop. */
  readonly signal: AbortSignal
  /** Whatever has not stopped after this time is abandoned. */
  readonly withinMs: number
}

/**
 * Returns the result of the work; null if the signal was aborted first and ended it. @throws the
 * errors of the work
 */
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
 * Serves until the signal aborts or the database is lost; then runs the closers that `serve` added,
 * and closes the resources.
 *
 * @returns the exit code: not 0 if something could not be completed
 * @throws the errors of `serve`
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
    // Many closers wait for the database, and this one will not return before we exit.
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
    if (left.length > 0) log.warn(`stopped before everything was closed: ${left.join("; ")}`, null)
  }
  return left.length > 0 ? 1 : code
}

type ListenAddress = Pick<Config, "host" | "port">

/**
 * Checks that a server could listen on this address before anything is created for it. Another
 * program may still take the port afterwards.
 *
 * @throws StartupFault if it could not
 */
export async function checkListenAddress({ host, port }: ListenAddress): Promise<void> {
  const code = await portFault(host, port)
  const sentence = code === null ? null : listenFaultText(code, { host, port })
  if (sentence !== null) throw new StartupFault(sentence)
}

/** Listens with `open`, which returns the server's URL. @throws StartupFault if it cannot */
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

/** The sentence for a system error code; null for an unknown code. */
function listenFaultText(code: string, { host, port }: ListenAddress): string | null {
  if (code === "EADDRINUSE") {
    return (
      `Port ${port} on ${host} is in use. Stop the program that uses it, or set PORT to another port ` +
      "(0 picks a free one)."
    )
  }
  if (code === "EACCES") return `This user may not use port ${port}. Set PORT to 1024 or higher.`
  if (["EADDRNOTAVAIL", "ENOTFOUND", "EAI_AGAIN"].includes(code)) {
    return `This machine has no address ${host}. Set HOST to one of its addresses.`
  }
  return null
}

/**
 * For this name Fastify would listen on two addresses, and the second server would lack the
 * handlers of the first and would not wait for its calls when it stops.
 */
async function resolveOneAddress(host: string): Promise<string> {
  if (host !== "localhost") return host
  return (await lookup(host, { order: "ipv4first" })).address
}
