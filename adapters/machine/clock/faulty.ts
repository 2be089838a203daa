/** A machine whose own clock goes wrong on a signal: for tests of what a process does about it. */
import process from "node:process"
import type { Pool } from "pg"
import type { Pacer } from "./port.ts"

/** What is to go wrong with the machine's clock. */
export interface ClockFault {
  /** By how much it leaps, milliseconds; back where negative. */
  readonly leapMs: number
  /** From then on the database's time cannot be asked for. */
  readonly isUnmeasured: boolean
}

/** Reads `leap=<milliseconds>`, with `,unmeasured` behind it or not. @throws RangeError */
export function parseClockFault(text: string): ClockFault {
  const [, leap, unmeasured] = /^leap=(-?\d{1,9})(,unmeasured)?$/.exec(text) ?? []
  if (leap === undefined)
    throw new RangeError("must be like leap=600000 or leap=-600000,unmeasured")
  return { leapMs: Number(leap), isUnmeasured: unmeasured !== undefined }
}

/** The time of the machine and of the database, as good as given until this process gets SIGUSR2. */
export function faultyMachine(
  { leapMs, isUnmeasured }: ClockFault,
  { pool, pacer }: { readonly pool: Pick<Pool, "query">; readonly pacer: Pacer },
): { readonly pool: Pick<Pool, "query">; readonly pacer: Pacer } {
  let hasLeapt = false
  process.on("SIGUSR2", () => {
    hasLeapt = true
  })
  const query = async (text: string) => {
    if (hasLeapt && isUnmeasured) throw new Error("the database's time cannot be asked for")
    return pool.query(text)
  }
  return {
    pool: { query: query as Pool["query"] },
    pacer: { ...pacer, elapsedMs: () => pacer.elapsedMs() + (hasLeapt ? leapMs : 0) },
  }
}
