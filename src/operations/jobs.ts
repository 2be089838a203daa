/** The queue of work: listing it, trying a row again, giving one up. */
import { z } from "zod"
import type { StoredJob } from "../../adapters/postgres/jobs/port.ts"
import { escapeForTerminalOutput } from "../frame/operator/cli/terminal.ts"
import type { AdminOperation, AdminPorts } from "../frame/operator/operation.ts"
import { OperatorRefused, operation } from "../frame/operator/operation.ts"
import type { Simulator } from "../../adapters/providers/simulators/port.ts"
import { COMMON_OUTCOMES } from "../../adapters/providers/simulators/port.ts"
import { withCrossFieldCheck } from "../frame/operator/inputs.ts"

const MAX_LISTED = 1_000
/** An operator is kept so long for the try's outcome; what takes longer is shown by `job list`. */
const RESULT_WITHIN_MS = 3_000
const POLL_MS = 25

/** A row after its try. */
interface RetryResult {
  /**
   * `done`; `put_off` until `dueAt`; `failed`, so that it is tried again by itself; `parked`, with the
   * reason; `running` or `due` where it takes longer than somebody should wait for it.
   */
  readonly state: "done" | "put_off" | "failed" | "parked" | "running" | "due"
  /** By the ledger's clock, ISO 8601; null where the row is gone. */
  readonly dueAt: string | null
  readonly parked: string | null
}

/** Looks at a row that was made due until it was tried, for three seconds at most. */
async function waitForAttempt(
  { jobs, clock, pacer }: Pick<AdminPorts, "jobs" | "clock" | "pacer">,
  workId: number,
  signal: AbortSignal,
): Promise<RetryResult> {
  const until = pacer.elapsedMs() + RESULT_WITHIN_MS
  for (;;) {
    const row = await jobs.find(workId)
    if (row === null) return { state: "done", dueAt: null, parked: null }
    const { dueAt, stuck, attempts, running } = row
    const found = (state: RetryResult["state"]): RetryResult => ({ state, dueAt, parked: stuck })
    if (stuck !== null) return found("parked")
    if (!running && Date.parse(dueAt) > clock.now()) return found("put_off")
    // Being tried once more counts from none: it was taken, failed and waits out a back-off.
    if (!running && attempts > 0) return found("failed")
    if (pacer.elapsedMs() >= until || signal.aborted) return found(running ? "running" : "due")
    await pacer.pause(POLL_MS, signal)
  }
}

const jobIdArgument = z
  .int()
  .positive()
  .meta({ description: "the row's number", argument: "WORK_ID" })

const listJobs = operation({
  name: "job list",
  summary: "list the work that waits, runs or is parked",
  notes: [
    "Times are UTC, by the ledger's clock. What failed for a passing reason is tried again at nextTryAt, " +
      "by the machine's clock; job retry tries it at once.",
  ],
  example: "job list",
  input: z.object({}),
  run: async ({ ports }) => ({ work: await ports.jobs.list(MAX_LISTED) }),
})

async function requireJob({ jobs }: Pick<AdminPorts, "jobs">, id: number): Promise<StoredJob> {
  const found = await jobs.find(id)
  if (found === null) throw new OperatorRefused("not_found", `There is no work ${id}.`)
  return found
}

/** The row, where an operator may have it tried or given up by now. @throws OperatorRefused */
async function findRetryable(
  ports: Pick<AdminPorts, "earliestRetryAt" | "clock" | "jobs">,
  id: number,
): Promise<StoredJob> {
  const found = await requireJob(ports, id)
  // What is parked was due before: it was tried.
  if (found.stuck === null && ports.earliestRetryAt(found) > ports.clock.now())
    throw notDueError(found)
  return found
}

function notDueError({ jobId: id, kind, dueAt }: StoredJob): OperatorRefused {
  const message = `Work ${id} (${kind}) is due at ${dueAt} and goes on by itself then.`
  return new OperatorRefused("conflict", message, { dueAt })
}

const retryJob = operation({
  name: "job retry",
  summary: "try a row of work that is due at once, parked or not",
  notes: [
    "Rejected before the work is due, unless it only checks something and may do so at any time.",
    "Says what became of it: done, put_off until dueAt, failed (it is tried again by itself) or parked;",
    "running or due where that is not known within three seconds.",
  ],
  example: "job retry 42",
  changes: true,
  input: z.object({ workId: jobIdArgument }),
  run: async ({ ports, signal }, { workId: id }) => {
    const work = await findRetryable(ports, id)
    const isEarly = Date.parse(work.dueAt) > ports.clock.now()
    if (!(await ports.jobs.retry(id, ports.clock.now(), isEarly))) {
      // It was tried or given up just now: it is gone, or put itself off.
      throw notDueError(await requireJob(ports, id))
    }
    ports.jobWorkers.wake()
    return { workId: id, retried: true, ...(await waitForAttempt(ports, id, signal)) }
  },
  render: renderRetryResult,
})

function renderRetryResult({
  workId: id,
  state,
  dueAt,
  parked,
}: RetryResult & { readonly workId: number }) {
  const words: Record<RetryResult["state"], string> = {
    done: "was tried and is done",
    put_off: `was tried and put itself off until ${dueAt}`,
    failed: "was tried and failed; it is tried again by itself",
    parked: `is parked: ${escapeForTerminalOutput(parked ?? "")}`,
    running: "is being tried",
    due: "is due and not begun yet",
  }
  return `Work ${id} ${words[state]}.\n`
}

const discardJob = operation({
  name: "job discard",
  summary: "give a parked row of work up",
  notes: [
    "A text counts as failed from then on (given_up) and its charge is given back;",
    "a reminder is not sent. Work that is owed to a company or its bill cannot be given up.",
  ],
  example: 'job discard 42 --reason "the carrier lost it"',
  changes: true,
  input: z.object({ workId: jobIdArgument }),
  run: async ({ ports, cause }, { workId: id }) => {
    const work = await findRetryable(ports, id)
    if (work.stuck === null) {
      const message = `Work ${id} is not parked: it goes on by itself.`
      throw new OperatorRefused("conflict", message)
    }
    const refused = await ports.discardJob(work, cause)
    if (refused !== null) throw new OperatorRefused("conflict", refused.refusal)
    // It may be gone already: what ended the work took its row away, or somebody tries it once more.
    await ports.jobs.discard(id)
    return { workId: id, skipped: true }
  },
})

/** Operations on the queue of work. */
export const jobOperations: readonly AdminOperation[] = [listJobs, retryJob, discardJob]

/** The operations on these simulators. */
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
      .meta({ description: "how many times, then ok again; default for ever", takes: "times" }),
  })
  const fault = ({ name, outcome }: z.infer<typeof Setting>): string | null => {
    const known = simulators.filter((one) => one.name === name).flatMap(outcomesOf)
    return known.includes(outcome) ? null : `${name} knows ${known.join(", ")}`
  }
  return operation({
    name: "simulator set",
    summary: "set what a simulator does next",
    notes: [
      `Every one knows ${COMMON_OUTCOMES.join(", ")}.`,
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
    summary: "list the simulators of outside things and what they do next",
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
        return { name, outcome, times, knows: outcomesOf(simulator) }
      })
      return { simulators: found }
    },
  })
}

function outcomesOf({ outcomes }: Simulator): readonly string[] {
  return [...COMMON_OUTCOMES, ...outcomes]
}
