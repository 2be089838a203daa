/**
 * The workers: they take rows of work that are due and do what each kind asks for. A row that fails
 * waits, longer each time, and is parked for an operator after many tries; it is never lost. The lease
 * of a row is renewed while it is worked on, so long work holds it for as long as its process lives.
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
/** Of these, so many are kept for work that is soon done. */
const RESERVED_FOR_SHORT_JOBS = MAX_CONCURRENT_JOBS / 2
/** Rows are taken so many at a time where there are more: a statement for each would cost more than most of them. */
const CLAIM_BATCH_SIZE = 16
const POLL_MS = 500
const IDLE_POLL_MS = 10
const MAX_ATTEMPTS = 20
const MAX_SETTLE_ATTEMPTS = 20
const SETTLE_RETRY_MS = 250
const READ_AGAIN_MS = 50
const PROJECTED_WITHIN_MS = 30_000

/** Running workers. */
export interface JobWorkers {
  /** Says that there may be new work. */
  readonly wake: () => void
  /**
   * Does a piece of work at once, in this process, unless its row is there already: then whoever takes
   * that does it. Resolves when it was done here or put off, with whether it was this process's.
   *
   * @param stopping where it aborts, the work is let go as if it had not been tried
   */
  readonly runJobNow: (work: NewJob, stopping: AbortSignal) => Promise<boolean>
  /** Resolves when no row is due (rows that wait out a back-off are not) and none is being done. */
  readonly waitUntilIdle: () => Promise<void>
  /** Takes no more rows and waits for those being done; long work is let go for another process. */
  readonly stop: () => Promise<void>
}

/** Starts the workers of this process. */
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
        await Promise.all(rows.map((row) => settleWithRetries(ports, row, { result: "let go" })))
        return
      }
      for (const row of rows) hand.begin(row)
    } while (again)
  }

  const wake = () => {
    if (stopped) return
    again = true
    taking ??= take()
      .catch((error: unknown) => ports.log.warn("work could not be taken", error))
      .finally(() => {
        taking = null
        // Somebody may have called between the last look and here.
        if (again) wake()
      })
  }

  const timer = setInterval(() => {
    // Also a little room is used now and then: what is in hand may take long.
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

/** How rows are done, by their kinds. */
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

/** How many more of each bounded kind may be taken; long work leaves half of all places to others. */
function boundsOf(
  reactions: readonly Reaction[],
  inHand: ReadonlyMap<number, RunningJob>,
): readonly JobKindLimit[] {
  const all = [...inHand.values()]
  const long = all.filter(({ isLong }) => isLong).length
  return reactions
    .filter(({ isLong, concurrency }) => isLong === true || concurrency !== undefined)
    .map(({ kind, isLong, concurrency = {} }) => {
      const own = all.filter((one) => one.kind === kind).length
      const perProcess = Math.max(0, (concurrency.process ?? MAX_CONCURRENT_JOBS) - own)
      const sharedPerProcess =
        isLong === true ? Math.max(0, MAX_CONCURRENT_JOBS - RESERVED_FOR_SHORT_JOBS - long) : null
      const { machine: perMachine = null, company: perCompany = null } = concurrency
      return { kind, perProcess, sharedPerProcess, perMachine, perCompany }
    })
}

/** Does what is due until nothing is; what is another process's, or came just now, is waited for. */
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
 * Another process may have written the rows: what they follow from is heard here before they are
 * done, so that nobody looks for it in vain. False where it is stopped before.
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

/** Does one row. What went wrong becomes the row's result: nothing is thrown. */
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
  // Whoever stops lets it go as if it had not been tried; whoever has it by now says what became of it.
  const given = signal.aborted && result.result !== "done" && result.result !== "let go"
  await settleWithRetries(ports, row, given ? { result: "let go" } : result)
}

/**
 * A row that was inserted before its fact was projected stands in the way of the one that follows from
 * that fact. Under another kind it would not, and two rows would have the provider called for one intent:
 * so it keeps its kind until then. What is tried again meanwhile is asked about first.
 */
async function deferUntilProjected(
  ports: Pick<Ports, "log" | "projector" | "store">,
  row: ClaimedJob,
  result: JobResult,
): Promise<JobResult> {
  if (result.result !== "later" || (result.kind ?? row.kind) === row.kind) return result
  try {
    const head = await ports.store.head()
    if (await ports.projector.waitUntilWritten(head, PROJECTED_WITHIN_MS, [JOBS_PROJECTION]))
      return result
    return retryWithBackoff(row, "what follows from facts is not written yet")
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
  if (reaction === undefined) return { result: "park", reason: `nobody does ${kind}` }
  if (companyId === null) return { result: "park", reason: `${kind} names no company` }
  const parsed = reaction.payload.safeParse(payload)
  if (!parsed.success) {
    const [issue] = parsed.error.issues
    const place = issue?.path.join(".") ?? ""
    return { result: "park", reason: `what ${kind} carries has no ${place} as it should be` }
  }
  const work: Job<unknown> = { ...row, companyId, payload: parsed.data, signal }
  try {
    return await runInTrace(ports, work, () => reaction.perform(ports, work))
  } catch (error) {
    return signal.aborted ? { result: "let go" } : failureResult(ports, row, error)
  }
}

/** What follows from something that is told of is told of as well. */
function runInTrace(
  { tracing }: Pick<Ports, "tracing">,
  { kind, trace, jobId, attempts, companyId }: Job<unknown>,
  work: () => Promise<JobResult>,
): Promise<JobResult> {
  if (trace === null || trace === undefined) return work()
  const attributes = {
    "ledger.work.id": jobId,
    "ledger.work.kind": kind,
    "ledger.work.tries": attempts,
    "ledger.company.id": companyId,
  }
  const spanned = { name: `work ${kind}`, kind: "consumer", attributes } as const
  return tracing.span(spanned, trace, async (span) => {
    const result = await work()
    span.setAttributes({ "ledger.work.result": result.result })
    if (result.result === "park") span.fail("parked")
    return result
  })
}

/** Keeps what became of a row, also over a connection that breaks just then. */
async function settleWithRetries(
  ports: Pick<Ports, "log" | "pacer" | "jobs">,
  row: ClaimedJob,
  result: JobResult,
): Promise<void> {
  if (result.result === "park") {
    const { jobId, kind } = row
    ports.log.warn(`work ${jobId} (${kind}) waits for an operator: ${result.reason}`, null)
  }
  for (let tries = 1; ; tries += 1) {
    try {
      return await ports.jobs.settle(row.jobId, result)
    } catch (error) {
      if (tries < MAX_SETTLE_ATTEMPTS && isConnectionFault(error)) {
        await ports.pacer.pause(SETTLE_RETRY_MS)
        continue
      }
      // The lease runs out and the row is done again: reactions may be repeated.
      ports.log.warn(`the outcome of work ${row.jobId} could not be kept`, error)
      return
    }
  }
}

function failureResult(ports: Pick<Ports, "log">, row: ClaimedJob, error: unknown): JobResult {
  const reason = error instanceof Error ? error.message : String(error)
  ports.log.warn(`work ${row.kind} failed`, error)
  if (row.attempts >= MAX_ATTEMPTS) return { result: "park", reason }
  return retryWithBackoff(row, reason)
}
