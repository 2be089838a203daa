/** Operations on jobs and on the simulators of providers. */
import { z } from "zod"
import type { StoredJob } from "../../adapters/postgres/jobs/port.ts"
import { escapeForTerminalOutput } from "../frame/operator/cli/terminal.ts"
import type { AdminOperation, AdminPorts } from "../frame/operator/operation.ts"
import { OperatorRefused, operation } from "../frame/operator/operation.ts"
import type { Simulator } from "../../adapters/providers/simulators/port.ts"
import { COMMON_OUTCOMES } from "../../adapters/providers/simulators/port.ts"
import { withCrossFieldCheck } from "../frame/operator/inputs.ts"

const MAX_LISTED = 1_000
/** How long `job retry` waits for the outcome; `job list` shows it later. */
const RESULT_WITHIN_MS = 3_000
const POLL_MS = 25

/** The state of a job after `job retry`. */
interface RetryResult {
  /**
   * `done`; `rescheduled` for `dueAt`; `failed`, which is retried automatically; `stuck`, with the
   * reason; `running` or `due` if there is no outcome within three seconds.
   */
  readonly state: "done" | "rescheduled" | "failed" | "stuck" | "running" | "due"
  /** By the ledger's clock, ISO 8601; null if the job is gone. */
  readonly dueAt: string | null
  readonly stuck: string | null
}

/** Polls a job that was made due until it was attempted, for three seconds at most. */
async function waitForAttempt(
  { jobs, clock, pacer }: Pick<AdminPorts, "jobs" | "clock" | "pacer">,
  jobId: number,
  signal: AbortSignal,
): Promise<RetryResult> {
  const until = pacer.elapsedMs() + RESULT_WITHIN_MS
  for (;;) {
    const row = await jobs.find(jobId)
    if (row === null) return { state: "done", dueAt: null, stuck: null }
    const { dueAt, stuck, attempts, running } = row
    const found = (state: RetryResult["state"]): RetryResult => ({ state, dueAt, stuck })
    if (stuck !== null) return found("stuck")
    if (!running && Date.parse(dueAt) > clock.now()) return found("rescheduled")
    // `job retry` resets the attempts, so a count above zero is the new attempt's failure.
    if (!running && attempts > 0) return found("failed")
    if (pacer.elapsedMs() >= until || signal.aborted) return found(running ? "running" : "due")
    await pacer.pause(POLL_MS, signal)
  }
}

const jobIdArgument = z
  .int()
  .positive()
  .meta({ description: "the job's number", argument: "JOB_ID" })

const listJobs = operation({
  name: "job list",
  summary: "list the jobs that wait, run or are stuck",
  notes: [
    "Times are UTC, by the ledger's clock. Jobs that failed temporarily are retried at nextTryAt, " +
      "by the machine's clock; job retry retries them immediately.",
  ],
  example: "job list",
  input: z.object({}),
  run: async ({ ports }) => ({ jobs: await ports.jobs.list(MAX_LISTED) }),
})

async function requireJob({ jobs }: Pick<AdminPorts, "jobs">, id: number): Promise<StoredJob> {
  const found = await jobs.find(id)
  if (found === null)
    throw new OperatorRefused("not_found", `There is no job ${id}. List them with "job list".`)
  return found
}

/**
 * Finds a job that an operator may retry or discard now.
 *
 * @throws OperatorRefused if there is no such job, or it is not due
 */
async function findRetryable(
  ports: Pick<AdminPorts, "earliestRetryAt" | "clock" | "jobs">,
  id: number,
): Promise<StoredJob> {
  const found = await requireJob(ports, id)
  // A stuck job has been attempted, so it was due.
  if (found.stuck === null && ports.earliestRetryAt(found) > ports.clock.now())
    throw notDueError(found)
  return found
}

function notDueError({ jobId: id, kind, dueAt }: StoredJob): OperatorRefused {
  const message = `Job ${id} (${kind}) runs automatically at ${dueAt}.`
  return new OperatorRefused("conflict", message, { dueAt })
}

const retryJob = operation({
  name: "job retry",
  summary: "retry a job that is due or stuck",
  notes: [
    "Rejected before the job is due, unless it only checks a status and may do so at any time.",
    "Prints the outcome: done, rescheduled for dueAt, failed (it is retried automatically) or stuck; " +
      "running or due if there is no outcome within three seconds.",
  ],
  example: "job retry 42",
  changes: true,
  input: z.object({ jobId: jobIdArgument }),
  run: async ({ ports, signal }, { jobId: id }) => {
    const job = await findRetryable(ports, id)
    const isEarly = Date.parse(job.dueAt) > ports.clock.now()
    if (!(await ports.jobs.retry(id, ports.clock.now(), isEarly))) {
      // A worker attempted or ended it just now: it is gone, or rescheduled.
      throw notDueError(await requireJob(ports, id))
    }
    ports.jobWorkers.wake()
    return { jobId: id, retried: true, ...(await waitForAttempt(ports, id, signal)) }
  },
  render: renderRetryResult,
})

function renderRetryResult({
  jobId: id,
  state,
  dueAt,
  stuck,
}: RetryResult & { readonly jobId: number }) {
  const words: Record<RetryResult["state"], string> = {
    done: "is done",
    rescheduled: `was attempted and is rescheduled for ${dueAt}`,
    failed: "was attempted and failed; it is retried automatically",
    stuck: `is stuck: ${escapeForTerminalOutput(stuck ?? "")}`,
    running: "is running",
    due: "is due and has not started yet",
  }
  return `Job ${id} ${words[state]}.\n`
}

const discardJob = operation({
  name: "job discard",
  summary: "discard a stuck job",
  notes: [
    "A text then counts as failed (given_up) and its charge is refunded; a reminder is not sent.",
    "Jobs that a company or its bill depends on cannot be discarded.",
  ],
  example: 'job discard 42 --reason "the carrier lost it"',
  changes: true,
  input: z.object({ jobId: jobIdArgument }),
  run: async ({ ports, cause }, { jobId: id }) => {
    const job = await findRetryable(ports, id)
    if (job.stuck === null) {
      const message = `Job ${id} is not stuck; it runs automatically.`
      throw new OperatorRefused("conflict", message)
    }
    const refused = await ports.discardJob(job, cause)
    if (refused !== null) throw new OperatorRefused("conflict", refused.refusal)
    // The job may be gone already: its end deleted the row, or another operator retried it.
    await ports.jobs.discard(id)
    return { jobId: id, discarded: true }
  },
})

/** Operations on jobs. */
export const jobOperations: readonly AdminOperation[] = [listJobs, retryJob, discardJob]

/** Builds the operations on these simulators. */
export function simulatorOperations(simulators: readonly Simulator[]): readonly AdminOperation[] {
  return [simulatorListOperation(simulators), simulatorSetOperation(simulators)]
}

function simulatorSetOperation(simulators: readonly Simulator[]): AdminOperation {
  const Setting = z.object({
    name: z
      .enum(simulators.map(({ name }) => name))
      .meta({ description: "the simulator", argument: "NAME" }),
    outcome: z.string().meta({ description: "what it does", argument: "OUTCOME" }),
    times: z
      .int()
      .positive()
      .optional()
      .meta({ description: "how many times, then ok again; default always", takes: "times" }),
  })
  const fault = ({ name, outcome }: z.infer<typeof Setting>): string | null => {
    const known = simulators.filter((one) => one.name === name).flatMap(outcomesOf)
    return known.includes(outcome)
      ? null
      : `${name} has no outcome "${outcome}"; use ${known.join(", ")}`
  }
  return operation({
    name: "simulator set",
    summary: "set what a simulator does next",
    notes: [
      `Every simulator has the outcomes ${COMMON_OUTCOMES.join(", ")}.`,
      ...simulators.flatMap(({ name, outcomes }) =>
        outcomes.length === 0 ? [] : `${name}: ${outcomes.join(", ")}.`,
      ),
    ],
    example: "simulator set carrier reject --times 1",
    changes: true,
    input: withCrossFieldCheck(Setting, fault),
    run: async ({ ports }, { name, outcome, times }) => {
      const setting = { name, outcome, times: times ?? null }
      await ports.simulators.set(setting)
      return setting
    },
  })
}

function simulatorListOperation(simulators: readonly Simulator[]): AdminOperation {
  return operation({
    name: "simulator list",
    summary: "list the simulators of providers and what they do next",
    example: "simulator list",
    input: z.object({}),
    run: async ({ ports }) => {
      const set = await ports.simulators.list()
      const found = simulators.map((simulator) => {
        const { name } = simulator
        const { outcome, times } = set.find((one) => one.name === name) ?? {
          outcome: "ok",
          times: null,
        }
        return { name, outcome, times, outcomes: outcomesOf(simulator) }
      })
      return { simulators: found }
    },
  })
}

function outcomesOf({ outcomes }: Simulator): readonly string[] {
  return [...COMMON_OUTCOMES, ...outcomes]
}
