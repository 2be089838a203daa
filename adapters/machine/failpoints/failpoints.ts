/**
 * Named points at which a test kills the process, as a power failure would, to check the state it
 * leaves. Without configured failpoints nothing is wrapped or counted.
 */
import process from "node:process"
import type { Pool } from "pg"
import type { Pacer } from "../clock/port.ts"

/** All failpoints. `answers.between`: one answer of a batch was sent, and others were not. */
export const FAILPOINTS = [
  "append.before",
  "append.after",
  "answers.between",
  "projection.inside",
  "provider.before",
  "provider.after",
] as const

export type Failpoint = (typeof FAILPOINTS)[number]

/**
 * Reports that a failpoint was reached, with the types of its events. It does not return if the
 * process is killed there.
 */
export type ReachFailpoint = (name: Failpoint, types?: readonly string[]) => void

type FailpointTarget = Failpoint | `${Failpoint}:${string}`

/** The configured failpoints, and the arrival at which each kills the process. */
export type FailpointHits = ReadonlyMap<FailpointTarget, number>

/**
 * Parses `name=arrival`, several separated by commas. `name:Type=arrival` counts only arrivals with
 * an event of that type, because a busy process also makes appends that the test did not cause.
 *
 * @throws RangeError
 */
export function parseFailpoints(text: string): FailpointHits {
  return new Map(text.split(",").map(parseFailpoint))
}

function parseFailpoint(text: string): [FailpointTarget, number] {
  const [, nameText, type, count] =
    /^([a-z.]+)(?::([A-Z][A-Za-z]{0,60}))?=([1-9]\d{0,5})$/.exec(text.trim()) ?? []
  const name = FAILPOINTS.find((known) => known === nameText)
  if (name === undefined) {
    throw new RangeError(`must be like ${FAILPOINTS[0]}=3, with one of ${FAILPOINTS.join(", ")}`)
  }
  return [type === undefined ? name : `${name}:${type}`, Number(count)]
}

/** Counts arrivals, and kills the process at the configured one. */
export function openFailpoints(hits: FailpointHits, end: () => void = killProcess): ReachFailpoint {
  const left = new Map(hits)
  const arrive = (at: FailpointTarget): void => {
    const count = left.get(at)
    if (count === undefined) return
    left.set(at, count - 1)
    if (count === 1) end()
  }
  return (name, types = []) => {
    arrive(name)
    for (const type of new Set(types)) arrive(`${name}:${type}`)
  }
}

/** No handler runs and nothing is flushed: the kernel ends the process before this returns. */
function killProcess(): void {
  process.kill(process.pid, "SIGKILL")
}

/** A simulated fault of the machine's clock. */
export interface ClockFault {
  /** The size of the jump in milliseconds; negative for back. */
  readonly jumpMs: number
  /** Whether the database's time cannot be queried afterwards. */
  readonly isUnmeasurable: boolean
}

/** Parses `leap=<milliseconds>`, optionally followed by `,unmeasured`. @throws RangeError */
export function parseClockFault(text: string): ClockFault {
  const [, leap, unmeasured] = /^leap=(-?\d{1,9})(,unmeasured)?$/.exec(text) ?? []
  if (leap === undefined)
    throw new RangeError("must be like leap=600000 or leap=-600000,unmeasured")
  return { jumpMs: Number(leap), isUnmeasurable: unmeasured !== undefined }
}

/** Wraps the machine's and the database's time with a fault that starts when this process gets SIGUSR2. */
export function withClockFault(
  { jumpMs, isUnmeasurable }: ClockFault,
  { pool, pacer }: { readonly pool: Pick<Pool, "query">; readonly pacer: Pacer },
): { readonly pool: Pick<Pool, "query">; readonly pacer: Pacer } {
  let hasLeapt = false
  process.on("SIGUSR2", () => {
    hasLeapt = true
  })
  const query = async (text: string) => {
    if (hasLeapt && isUnmeasurable) throw new Error("The database's time cannot be queried")
    return pool.query(text)
  }
  return {
    pool: { query: query as Pool["query"] },
    pacer: { ...pacer, elapsedMs: () => pacer.elapsedMs() + (hasLeapt ? jumpMs : 0) },
  }
}
