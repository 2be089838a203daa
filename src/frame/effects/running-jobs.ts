/**
 * What a process has in hand: rows of work, each from where it was taken until something came of it. Their
 * leases are renewed here, and what may be held without being in hand is let go.
 */
import type { NewJob, ClaimedJob } from "../../../adapters/postgres/jobs/port.ts"
import type { Ports } from "../ports.ts"

/** A third of a lease: one that is late twice is still in time. */
const RENEW_EVERY_MS = 20_000

/** Why a row is let go that is still this process's: its provider's answer is not waited for. */
export const STOP_REASON = new Error("this process is about to stop")

/** A row in hand. */
export interface RunningJob {
  readonly kind: string
  readonly companyId: string | null
  readonly isLong: boolean
  /** Aborted where it is to be let go, or is another process's by now. */
  readonly controller: AbortController
  /** Resolves when something came of it. */
  readonly done: Promise<void>
}

/** What is done with a row. */
export interface JobHandler {
  readonly isLong: (kind: string) => boolean
  /** Does it and settles it; never throws. */
  readonly perform: (row: ClaimedJob, signal: AbortSignal) => Promise<void>
  readonly onDone: () => void
}

/** What a process has in hand, each row until something came of it. */
export function openRunningJobs(
  ports: Pick<Ports, "log" | "tracing" | "jobs">,
  handling: JobHandler,
) {
  const inHand = new Map<number, RunningJob>()
  const renewing = setInterval(() => void renewLeases(ports, inHand), RENEW_EVERY_MS).unref()
  const empty = async () => {
    await Promise.all([...inHand.values()].map(({ done }) => done))
  }
  const begin = (row: ClaimedJob): RunningJob => {
    const { jobId, kind, companyId } = row
    const controller = new AbortController()
    const done = handling.perform(row, controller.signal).finally(() => {
      inHand.delete(jobId)
      handling.onDone()
    })
    const one = { kind, companyId, isLong: handling.isLong(kind), controller, done }
    inHand.set(jobId, one)
    return one
  }
  return {
    inHand: inHand as ReadonlyMap<number, RunningJob>,
    begin,
    ...openLostClaims(ports, inHand, begin),
    empty,
    close: async () => {
      await empty()
      clearInterval(renewing)
    },
  }
}

/**
 * Rows that this process may hold in the table without having them in hand: a statement that takes or
 * inserts some may be done and its answer lost. They are known by what is in hand, so they are let go only
 * while no row is on its way from the table into the hand.
 */
function openLostClaims(
  ports: Pick<Ports, "tracing" | "jobs">,
  inHand: ReadonlyMap<number, RunningJob>,
  begin: (row: ClaimedJob) => RunningJob,
) {
  const inserting = new Set<Promise<unknown>>()
  let mayBeLost = false
  let lettingGo: Promise<void> = Promise.resolve()
  const orLost = async <T>(asked: Promise<T>): Promise<T> => {
    try {
      return await asked
    } catch (error) {
      mayBeLost = true
      throw error
    }
  }
  const insert = async (work: NewJob): Promise<RunningJob | null> => {
    // What is being let go was counted without this row; whoever let go hears of what went wrong.
    await Promise.allSettled([lettingGo])
    const trace = ports.tracing.currentTraceParent()
    const row = await orLost(ports.jobs.enqueueClaimed(trace === null ? work : { ...work, trace }))
    return row === null ? null : begin(row)
  }
  return {
    /** What a statement answers that takes rows. */
    orLost,
    /** Lets go of what was lost. Where rows are just being inserted, that has time until the next look. */
    letGoOfLost: async (): Promise<void> => {
      if (!mayBeLost || inserting.size > 0) return
      lettingGo = ports.jobs.releaseExcept([...inHand.keys()])
      await lettingGo
      mayBeLost = false
    },
    /** Inserts a row and does it; false where it is there already. A stop lets it go. */
    doNow: async (work: NewJob, stopping: AbortSignal): Promise<boolean> => {
      const asked = insert(work)
      inserting.add(asked)
      const own = await asked.finally(() => inserting.delete(asked))
      if (own === null) return false
      const stop = () => own.controller.abort(STOP_REASON)
      if (stopping.aborted) stop()
      stopping.addEventListener("abort", stop)
      await own.done
      stopping.removeEventListener("abort", stop)
      return true
    },
    /** Resolves when what was being inserted is in hand, or is not. */
    inserted: async (): Promise<void> => {
      await Promise.allSettled(inserting)
    },
  }
}

/** Keeps what is in hand; what another process has by now is told so. */
async function renewLeases(
  ports: Pick<Ports, "log" | "jobs">,
  inHand: ReadonlyMap<number, RunningJob>,
): Promise<void> {
  const held = [...inHand.keys()]
  if (held.length === 0) return
  try {
    const ours = new Set(await ports.jobs.renewLeases(held))
    for (const workId of held) if (!ours.has(workId)) inHand.get(workId)?.controller.abort()
  } catch (error) {
    ports.log.warn("the leases of work in hand could not be renewed", error)
  }
}
