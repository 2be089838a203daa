/** Workers over a queue in memory, on a clock of the test: several processes, each with a view of its own. */
import { vi } from "vitest"
import { NO_TRACING } from "../../adapters/tracing/port.ts"
import type { Bound, NewWork, TakenWork, WorkQueue } from "../../adapters/work/port.ts"
import { parseCompanyId } from "../../domain/kernel/ids.ts"
import type { Reaction } from "../../src/frame/effects/reaction.ts"
import { startWorkers } from "../../src/frame/effects/workers.ts"
import type { Ports } from "../../src/frame/ports.ts"

const LEASE_MS = 60_000

interface Row {
  readonly workId: number
  readonly work: Omit<NewWork, "companyId"> & { readonly companyId: string }
  holder: string | null
  leasedUntil: number
  tries: number
}

/** The table, and what a test sees of it. */
export class PretendedQueue {
  readonly rows = new Map<number, Row>()
  #made = 0

  /** Adds a row that is due. */
  add(kind: string, companyId = "co_aaaaaa"): number {
    this.#made += 1
    const workId = this.#made
    const name = `row ${workId}`
    const work = { kind, name, subject: name, companyId, payload: {}, dueAt: 0 }
    this.rows.set(workId, { workId, work, holder: null, leasedUntil: 0, tries: 0 })
    return workId
  }

  /** Whose a row is by its lease; null for nobody's, undefined where there is none. */
  holderOf(workId: number): string | null | undefined {
    const row = this.rows.get(workId)
    if (row === undefined) return undefined
    return row.leasedUntil > Date.now() ? row.holder : null
  }

  /** The queue as one process asks it. */
  of(own: string): WorkQueue {
    const isOwn = (workId: number) => this.rows.get(workId)?.holder === own
    const hold = (row: Row): TakenWork => {
      row.holder = own
      row.leasedUntil = Date.now() + LEASE_MS
      row.tries += 1
      const { workId, work, tries } = row
      const companyId = parseCompanyId(work.companyId)
      return { ...work, workId, companyId, tries, isHandedOver: false }
    }
    return {
      take: async (_now, limit, bounds = []) =>
        [...this.rows.values()]
          .filter(({ workId }) => this.holderOf(workId) === null)
          .filter(within(bounds, [...this.rows.values()], (id) => this.holderOf(id) !== null))
          .slice(0, limit)
          .map(hold),
      insertTaken: async (work) => {
        if ([...this.rows.values()].some((row) => row.work.name === work.name)) return null
        const workId = this.add(work.kind)
        const row = { ...(this.rows.get(workId) as Row), work }
        this.rows.set(workId, row)
        return hold(row)
      },
      renew: async (workIds) => {
        const ours = workIds.filter(isOwn)
        for (const id of ours) (this.rows.get(id) as Row).leasedUntil = Date.now() + LEASE_MS
        return ours
      },
      handOver: async (workId) => isOwn(workId),
      letGo: async (inHand) => {
        for (const row of this.rows.values()) {
          if (row.holder === own && !inHand.includes(row.workId)) row.holder = null
        }
      },
      settle: async (workId, { result }) => {
        const row = this.rows.get(workId)
        if (result === "done") this.rows.delete(workId)
        else if (row?.holder === own) {
          row.holder = null
          if (result === "let go") row.tries -= 1
        }
      },
      dueCount: async () => this.rows.size,
      backlog: async () => ({ due: 0, dueSince: null, parked: 0, parkedSince: null }),
      nextDue: async () => null,
      names: async () => [],
      list: async () => [],
      find: async () => null,
      named: async () => null,
      dropParked: async () => false,
      retry: async () => false,
    }
  }
}

/** Whether a row may be taken beside those that come before it: as many of a bounded kind as its bound says. */
function within(bounds: readonly Bound[], rows: readonly Row[], isHeld: (id: number) => boolean) {
  const taken = new Map<string, number>()
  const add = (key: string) => taken.set(key, (taken.get(key) ?? 0) + 1)
  for (const { workId, work } of rows) {
    if (isHeld(workId)) add(`${work.kind} ${work.companyId}`)
  }
  return ({ work: { kind, companyId } }: Row): boolean => {
    const bound = bounds.find((one) => one.kind === kind)
    if (bound === undefined) return true
    const { most, mostShared, perCompany } = bound
    if ((taken.get(kind) ?? 0) >= most) return false
    if (mostShared !== null && (taken.get("shared") ?? 0) >= mostShared) return false
    if ((taken.get(`${kind} ${companyId}`) ?? 0) >= (perCompany ?? Infinity)) return false
    add(kind)
    if (mostShared !== null) add("shared")
    add(`${kind} ${companyId}`)
    return true
  }
}

/** What a test may change of a process. */
export interface Around {
  readonly work?: Partial<WorkQueue>
  readonly hasRead?: () => Promise<boolean>
}

/** The workers of a process, as they are started. */
export function startedWorkers(
  queue: PretendedQueue,
  own: string,
  reactions: readonly Reaction[],
  { work = {}, hasRead = async () => true }: Around = {},
) {
  const warn = vi.fn<Ports["log"]["warn"]>()
  const ports = {
    clock: { now: () => Date.now() },
    pacer: {
      elapsedMs: () => Date.now(),
      pause: (ms: number) => new Promise<void>((resolve) => setTimeout(resolve, ms)),
    },
    projector: { hasRead },
    log: { warn },
    tracing: NO_TRACING,
    work: { ...queue.of(own), ...work },
  } as unknown as Ports
  return { workers: startWorkers(ports, reactions), warn }
}
