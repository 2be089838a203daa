/**
 * The job workers: they claim due jobs and run the reaction of each kind. A failed job is retried with a
 * growing pause and becomes stuck after many attempts; it is never lost. The lease of a running job is
 * renewed, so a long job keeps it while its process lives.
 */
import { isConnectionFault } from "../../../adapters/postgres/port.ts"
import type {
  JobKindLimit,
  NewJob,
  ClaimedJob,
  JobResult,
} from "../../../adapters/postgres/jobs/port.ts"
import { JOBS_PROJECTION } from "../../../projections/kernel/jobs.ts"
import type { Ports } from "../ports.ts"
import { retryWithBackoff } from "./effect-times.ts"
import type { JobHandler, RunningJob } from "./running-jobs.ts"
import { STOP_REASON, openRunningJobs } from "./running-jobs.ts"
import type { Reaction, Job } from "./reaction.ts"

const MAX_CONCURRENT_JOBS = 64
const RESERVED_FOR_SHORT_JOBS = MAX_CONCURRENT_JOBS / 2
/** Jobs to claim at a time: one statement per job would cost more than most jobs. */
const CLAIM_BATCH_SIZE = 16
const POLL_MS = 500
const IDLE_POLL_MS = 10
const MAX_ATTEMPTS = 20
const MAX_SETTLE_ATTEMPTS = 20
const SETTLE_RETRY_MS = 250
const READ_AGAIN_MS = 50
const PROJECTED_WITHIN_MS = 30_000

/** The running job workers of a process. */
export interface JobWorkers {
  /** Announces that there may be new jobs. */
  readonly wake: () => void
  /**
   * Runs a job immediately in this process, unless its row already exists; then the process that claims the
   * row runs it. Resolves with whether this process ran or postponed it.
   *
   * @param stopping when it aborts, the job is released as if it had not been tried
   */
  readonly runJobNow: (work: NewJob, stopping: AbortSignal) => Promise<boolean>
  /** Resolves when no job is due (jobs in back-off are not due) and none is running. */
  readonly waitUntilIdle: () => Promise<void>
  /** Claims no more jobs and waits for the running ones; long jobs are released for another process. */
  readonly stop: () => Promise<void>
}

/** Starts the job workers of this process. */
export function startJobWorkers(ports: Ports, reactions: readonly Reaction[]): JobWorkers {
  const hand = openRunningJobs(
    ports,
    jobHandlerOf(ports, reactions, () => wake()),
  )
  const { inHand } = hand
  let stopped = false
  let taking: Promise<void> | null = null
  let again = false
  let leastRoom = CLAIM_BATCH_SIZE

  const take = async () => {
    do {
      again = false
      const room = MAX_CONCURRENT_JOBS - inHand.size
      if (stopped || room < leastRoom) return
      leastRoom = CLAIM_BATCH_SIZE
      await hand.letGoOfLost()
      const bounds = boundsOf(reactions, inHand)
      const rows = await hand.orLost(ports.jobs.claim(ports.clock.now(), room, bounds))
      if (rows.length > 0 && !(await waitForProjector(ports, () => stopped))) {
        await Promise.all(rows.map((row) => settleWithRetries(ports, row, { result: "released" })))
        return
      }
      for (const row of rows) hand.begin(row)
    } while (again)
  }

  const wake = () => {
    if (stopped) return
    again = true
    taking ??= take()
      .catch((error: unknown) => ports.log.warn("jobs could not be claimed", error))
      .finally(() => {
        taking = null
        // `wake` may have been called between the last claim and here.
        if (again) wake()
      })
  }

  const timer = setInterval(() => {
    // Running jobs may take long, so a timer tick also fills a small gap.
    leastRoom = 1
    wake()
  }, POLL_MS).unref()
  return {
    wake,
    runJobNow: async (work, stopping) => !stopped && (await hand.doNow(work, stopping)),
    waitUntilIdle: () =>
      runUntilNoneDue(ports, async () => {
        wake()
        while (taking !== null || inHand.size > 0) {
          await taking
          await hand.empty()
        }
      }),
    stop: async () => {
      stopped = true
      clearInterval(timer)
      await taking
      await hand.inserted()
      for (const { isLong, controller } of inHand.values())
        if (isLong) controller.abort(STOP_REASON)
      await hand.close()
    },
  }
}

/** Returns how jobs of each kind are run. */
function jobHandlerOf(
  ports: Ports,
  reactions: readonly Reaction[],
  onDone: () => void,
): JobHandler {
  const byKind = new Map(reactions.map((reaction) => [reaction.kind, reaction]))
  return {
    isLong: (kind) => byKind.get(kind)?.isLong === true,
    perform: (row, signal) => runAndSettle(ports, byKind.get(row.kind), row, signal),
    onDone,
  }
}

/** Returns how many more jobs of each bounded kind may be claimed; long jobs leave half of the room free. */
function boundsOf(
  reactions: readonly Reaction[],
  inHand: ReadonlyMap<number, RunningJob>,
): readonly JobKindLimit[] {
  const all = [...inHand.values()]
  const long = all.filter(({ isLong }) => isLong).length
  return reactions
    .filter(({ isLong, concurrency }) => isLong === true || concurrency !== undefined)
    .map(({ kind, isLong, concurrency = {} }) => {
      const running = all.filter((one) => one.kind === kind).length
      const perProcess = Math.max(0, (concurrency.process ?? MAX_CONCURRENT_JOBS) - running)
      const sharedPerProcess =
        isLong === true ? Math.max(0, MAX_CONCURRENT_JOBS - RESERVED_FOR_SHORT_JOBS - long) : null
      const { machine: perMachine = null, company: perCompany = null } = concurrency
      return { kind, perProcess, sharedPerProcess, perMachine, perCompany }
    })
}

/** Runs jobs until none is due; waits for those of other processes and those that arrive meanwhile. */
async function runUntilNoneDue(
  ports: Pick<Ports, "clock" | "pacer" | "jobs">,
  doAll: () => Promise<void>,
): Promise<void> {
  for (;;) {
    await doAll()
    if ((await ports.jobs.countDue(ports.clock.now())) === 0) return
    await ports.pacer.pause(IDLE_POLL_MS)
  }
}

/**
 * Waits until this process has read the facts behind the claimed jobs, which another process may have
 * enqueued. False if the workers stop first.
 */
async function waitForProjector(
  ports: Pick<Ports, "pacer" | "projector">,
  isStopped: () => boolean,
): Promise<boolean> {
  while (!isStopped()) {
    if (await ports.projector.waitUntilRead(JOBS_PROJECTION)) return true
    await ports.pacer.pause(READ_AGAIN_MS)
  }
  return false
}

/** Runs one job. An error becomes the job's result: nothing is thrown. */
async function runAndSettle(
  ports: Ports,
  reaction: Reaction | undefined,
  row: ClaimedJob,
  signal: AbortSignal,
): Promise<void> {
  const result = await deferUntilProjected(
    ports,
    row,
    await runReaction(ports, reaction, row, signal),
  )
  // A stopping process releases the job as if untried; after a lost lease the new holder records the outcome.
  const isReleased = signal.aborted && result.result !== "done" && result.result !== "released"
  await settleWithRetries(ports, row, isReleased ? { result: "released" } : result)
}

/**
 * A job that was inserted before its fact was projected must keep its kind until then: under another kind the
 * fact would enqueue it a second time, and two jobs would call the provider for one intent.
 */
async function deferUntilProjected(
  ports: Pick<Ports, "log" | "projector" | "store">,
  row: ClaimedJob,
  result: JobResult,
): Promise<JobResult> {
  if (result.result !== "rescheduled" || (result.kind ?? row.kind) === row.kind) return result
  try {
    const head = await ports.store.head()
    if (await ports.projector.waitUntilWritten(head, PROJECTED_WITHIN_MS, [JOBS_PROJECTION]))
      return result
    return retryWithBackoff(row, "the jobs of earlier facts are not enqueued yet")
  } catch (error) {
    return failureResult(ports, row, error)
  }
}

async function runReaction(
  ports: Ports,
  reaction: Reaction | undefined,
  row: ClaimedJob,
  signal: AbortSignal,
): Promise<JobResult> {
  const { kind, companyId, payload } = row
  if (reaction === undefined) return { result: "stuck", reason: `no reaction runs ${kind} jobs` }
  if (companyId === null) return { result: "stuck", reason: `the ${kind} job names no company` }
  const parsed = reaction.payload.safeParse(payload)
  if (!parsed.success) {
    const [issue] = parsed.error.issues
    const field = issue?.path.join(".") ?? ""
    return { result: "stuck", reason: `the payload of the ${kind} job has no valid ${field}` }
  }
  const work: Job<unknown> = { ...row, companyId, payload: parsed.data, signal }
  try {
    return await runInTrace(ports, work, () => reaction.perform(ports, work))
  } catch (error) {
    return signal.aborted ? { result: "released" } : failureResult(ports, row, error)
  }
}

/** Runs a job within the trace of the request that caused it, if that is traced. */
function runInTrace(
  { tracing }: Pick<Ports, "tracing">,
  { kind, trace, jobId, attempts, companyId }: Job<unknown>,
  work: () => Promise<JobResult>,
): Promise<JobResult> {
  if (trace === null || trace === undefined) return work()
  const attributes = {
    "ledger.job.id": jobId,
    "ledger.job.kind": kind,
    "ledger.job.attempts": attempts,
    "ledger.company.id": companyId,
  }
  const spanned = { name: `job ${kind}`, kind: "consumer", attributes } as const
  return tracing.span(spanned, trace, async (span) => {
    const result = await work()
    span.setAttributes({ "ledger.job.result": result.result })
    if (result.result === "stuck") span.fail("stuck")
    return result
  })
}

/** Stores a job's result, and retries over a broken connection. */
async function settleWithRetries(
  ports: Pick<Ports, "log" | "pacer" | "jobs">,
  row: ClaimedJob,
  result: JobResult,
): Promise<void> {
  if (result.result === "stuck") {
    const { jobId, kind } = row
    ports.log.warn(
      `job ${jobId} (${kind}) is stuck: ${result.reason}. Run "job retry ${jobId}" or "job discard ${jobId}".`,
      null,
    )
  }
  for (let tries = 1; ; tries += 1) {
    try {
      return await ports.jobs.settle(row.jobId, result)
    } catch (error) {
      if (tries < MAX_SETTLE_ATTEMPTS && isConnectionFault(error)) {
        await ports.pacer.pause(SETTLE_RETRY_MS)
        continue
      }
      // The lease expires and the job runs again: reactions must tolerate that.
      ports.log.warn(
        `the result of job ${row.jobId} could not be stored; it runs again when its lease expires`,
        error,
      )
      return
    }
  }
}

function failureResult(ports: Pick<Ports, "log">, row: ClaimedJob, error: unknown): JobResult {
  const reason = error instanceof Error ? error.message : String(error)
  ports.log.warn(`job ${row.jobId} (${row.kind}) failed`, error)
  if (row.attempts >= MAX_ATTEMPTS) return { result: "stuck", reason }
  return retryWithBackoff(row, reason)
}
