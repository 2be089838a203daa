/** The jobs that a process has claimed and runs. Renews their leases, and releases claims that were lost. */
import type { NewJob, ClaimedJob } from "../../../adapters/postgres/jobs/port.ts"
import type { Ports } from "../ports.ts"

/** A third of the one-minute lease, so that two late renewals do no harm. */
const RENEW_EVERY_MS = 20_000

/** Abort reason for a job whose lease this process still has, but whose provider's answer it cannot wait for. */
export const STOP_REASON = new Error("this process is about to stop")

/** A job that this process runs. */
export interface RunningJob {
  readonly kind: string
  readonly companyId: string | null
  readonly isLong: boolean
  /** Aborted to release the job, or after the lease was lost. */
  readonly controller: AbortController
  /** Resolves when the job's result is stored. */
  readonly done: Promise<void>
}

/** How claimed jobs are run. */
export interface JobHandler {
  readonly isLong: (kind: string) => boolean
  /** Runs and settles the job; never throws. */
  readonly perform: (row: ClaimedJob, signal: AbortSignal) => Promise<void>
  readonly onDone: () => void
}

/** Tracks the jobs that this process runs. */
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
 * Handles claims whose answer was lost: the table may name this process for jobs that it does not run.
 * Releasing such jobs excludes the running ones, so it waits until no insert is in progress.
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
    // The release in progress does not know this row; its caller sees the error.
    await Promise.allSettled([lettingGo])
    const trace = ports.tracing.currentTraceParent()
    const row = await orLost(ports.jobs.enqueueClaimed(trace === null ? work : { ...work, trace }))
    return row === null ? null : begin(row)
  }
  return {
    /** Notes a failed claim, whose jobs may be lost. */
    orLost,
    /** Releases lost jobs, unless an insert is in progress; then the next call does it. */
    letGoOfLost: async (): Promise<void> => {
      if (!mayBeLost || inserting.size > 0) return
      lettingGo = ports.jobs.releaseExcept([...inHand.keys()])
      await lettingGo
      mayBeLost = false
    },
    /** Inserts a job and runs it; false if its row exists already. A stop releases it. */
    doNow: async (work: NewJob, stopping: AbortSignal): Promise<boolean> => {
      const inserted = insert(work)
      inserting.add(inserted)
      const job = await inserted.finally(() => inserting.delete(inserted))
      if (job === null) return false
      const stop = () => job.controller.abort(STOP_REASON)
      if (stopping.aborted) stop()
      stopping.addEventListener("abort", stop)
      await job.done
      stopping.removeEventListener("abort", stop)
      return true
    },
    /** Resolves when all inserts in progress have ended. */
    inserted: async (): Promise<void> => {
      await Promise.allSettled(inserting)
    },
  }
}

/** Renews the leases of running jobs; aborts those whose lease another process has taken. */
async function renewLeases(
  ports: Pick<Ports, "log" | "jobs">,
  inHand: ReadonlyMap<number, RunningJob>,
): Promise<void> {
  const held = [...inHand.keys()]
  if (held.length === 0) return
  try {
    const ours = new Set(await ports.jobs.renewLeases(held))
    for (const jobId of held) if (!ours.has(jobId)) inHand.get(jobId)?.controller.abort()
  } catch (error) {
    ports.log.warn("the leases of running jobs could not be renewed", error)
  }
}
