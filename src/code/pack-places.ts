/**
 * How many packs a process makes and takes in at once. They have places of their own: a clone is a hundred
 * times the work of a call, and neither keeps the other waiting.
 */
import type { Pacer } from "../../adapters/machine/clock/port.ts"
import type { CompanyId } from "../../domain/kernel/ids.ts"

/** Where a pack goes: out to who fetches, in from who pushes. */
export type Direction = "out" | "in"

/** At once, of all companies and of one: no single company keeps the others waiting. */
const MOST = { out: { all: 12, ofOne: 4 }, in: { all: 6, ofOne: 2 } } as const
const MOST_WAITING = 32
const WAIT_MS = 30_000

/** The places of a process. */
export interface PackPlaces {
  /**
   * Takes one, once there is one; answers how it is let go. Null where too many wait, it took too long,
   * or the caller went away.
   */
  readonly take: (
    direction: Direction,
    companyId: CompanyId,
    gone: AbortSignal,
  ) => Promise<(() => void) | null>
  readonly count: () => Readonly<Record<Direction | "waiting", number>>
}

interface Waiting {
  readonly direction: Direction
  readonly companyId: CompanyId
  readonly let: () => void
}

/** Opens them. */
export function openPackPlaces(pacer: Pick<Pacer, "pause">): PackPlaces {
  const taken: Record<Direction, CompanyId[]> = { out: [], in: [] }
  /** Who came first is first. */
  const waiting = new Set<Waiting>()
  const isFree = ({ direction, companyId }: Pick<Waiting, "direction" | "companyId">): boolean => {
    const most = MOST[direction]
    const own = taken[direction].filter((one) => one === companyId).length
    return taken[direction].length < most.all && own < most.ofOne
  }
  const enter = (direction: Direction, companyId: CompanyId): (() => void) => {
    taken[direction].push(companyId)
    let isTaken = true
    return () => {
      if (!isTaken) return
      isTaken = false
      taken[direction].splice(taken[direction].indexOf(companyId), 1)
      for (const one of waiting) {
        if (!isFree(one)) continue
        waiting.delete(one)
        one.let()
      }
    }
  }
  return {
    count: () => ({ out: taken.out.length, in: taken.in.length, waiting: waiting.size }),
    take: async (direction, companyId, gone) => {
      if (isFree({ direction, companyId })) return enter(direction, companyId)
      if (waiting.size >= MOST_WAITING || gone.aborted) return null
      const { promise, resolve } = Promise.withResolvers<(() => void) | null>()
      const over = new AbortController()
      const own: Waiting = {
        direction,
        companyId,
        // At once: nobody who comes now is let in before.
        let: () => resolve(enter(direction, companyId)),
      }
      waiting.add(own)
      void pacer.pause(WAIT_MS, AbortSignal.any([over.signal, gone])).then(() => {
        waiting.delete(own)
        resolve(null)
      })
      const left = await promise
      over.abort()
      return left
    },
  }
}
