/**
 * Named places at which a test ends the process at once, as a power cut would, to see what it leaves
 * behind. Nothing is wrapped and nothing counted where none is named.
 */
import process from "node:process"
import type { Pool } from "pg"
import type { Pacer } from "../clock/port.ts"

/** All of them. `answers.between`: one answer has left, and others of its batch have not. */
export const FAILPOINTS = [
  "append.before",
  "append.after",
  "answers.between",
  "projection.inside",
  "provider.before",
  "provider.after",
] as const

/** The name of a place. */
export type Failpoint = (typeof FAILPOINTS)[number]

/**
 * Says that a place was reached, and with events of which types. It does not return where the process
 * ends there.
 */
export type ReachFailpoint = (name: Failpoint, types?: readonly string[]) => void

/** A place, or a place with events of one type. */
type FailpointTarget = Failpoint | `${Failpoint}:${string}`

/** Which places are set, and the how manieth arrival there ends the process. */
export type FailpointHits = ReadonlyMap<FailpointTarget, number>

/**
 * Reads `name=arrival`, several with commas between them. With `name:Type=arrival` only arrivals with an
 * event of that type count: a busy process appends more than what a test made it append, and some twice.
 *
 * @throws RangeError naming what is wrong
 */
export function parseFailpoints(text: string): FailpointHits {
  return new Map(text.split(",").map(parseFailpoint))
}

function parseFailpoint(text: string): [FailpointTarget, number] {
  const [, found, type, count] =
    /^([a-z.]+)(?::([A-Z][A-Za-z]{0,60}))?=([1-9]\d{0,5})$/.exec(text.trim()) ?? []
  const name = FAILPOINTS.find((one) => one === found)
  if (name === undefined) {
    throw new RangeError(`must be like ${FAILPOINTS[0]}=3, of ${FAILPOINTS.join(", ")}`)
  }
  return [type === undefined ? name : `${name}:${type}`, Number(count)]
}

/** Counts arrivals, and ends the process at the one that was named. */
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

/** No handler runs, nothing is flushed: the kernel takes the process away before this returns. */
function killProcess(): void {
  process.kill(process.pid, "SIGKILL")
}

/** What is to go wrong with the machine's clock. */
export interface ClockFault {
  /** By how much it leaps, milliseconds; back where negative. */
  readonly jumpMs: number
  /** From then on the database's time cannot be asked for. */
  readonly isUnmeasurable: boolean
}

/** Reads `leap=<milliseconds>`, with `,unmeasured` behind it or not. @throws RangeError */
export function parseClockFault(text: string): ClockFault {
  const [, leap, unmeasured] = /^leap=(-?\d{1,9})(,unmeasured)?$/.exec(text) ?? []
  if (leap === undefined)
    throw new RangeError("must be like leap=600000 or leap=-600000,unmeasured")
  return { jumpMs: Number(leap), isUnmeasurable: unmeasured !== undefined }
}

/** The time of the machine and of the database, as good as given until this process gets SIGUSR2. */
export function withClockFault(
  { jumpMs, isUnmeasurable }: ClockFault,
  { pool, pacer }: { readonly pool: Pick<Pool, "query">; readonly pacer: Pacer },
): { readonly pool: Pick<Pool, "query">; readonly pacer: Pacer } {
  let hasLeapt = false
  process.on("SIGUSR2", () => {
    hasLeapt = true
  })
  const query = async (text: string) => {
    if (hasLeapt && isUnmeasurable) throw new Error("the database's time cannot be asked for")
    return pool.query(text)
  }
  return {
    pool: { query: query as Pool["query"] },
    pacer: { ...pacer, elapsedMs: () => pacer.elapsedMs() + (hasLeapt ? jumpMs : 0) },
  }
}
