/** Operations on the ledger's clock, and `wait`. */
import { z } from "zod"
import { comparePositions } from "../../adapters/eventstore/port.ts"
import { formatPositionToken } from "../frame/routes/checks/6-position.ts"
import { timeInput } from "../frame/operator/inputs.ts"
import type { AdminContext, AdminOperation, AdminPorts } from "../frame/operator/operation.ts"
import { OperatorRefused, operation } from "../frame/operator/operation.ts"

const WAIT_MS = 60_000
const UNITS_MS = { s: 1_000, m: 60_000, h: 3_600_000, d: 86_400_000 } as const

/**
 * Waits until every read model and reaction has processed everything stored before the call, and
 * the jobs that followed from it.
 *
 * @returns the position token of the store's head
 * @throws OperatorRefused where a read model is stopped or takes longer than a minute
 */
async function waitUntilIdle(
  ports: Pick<AdminPorts, "projector" | "flush" | "store" | "storeGeneration" | "jobWorkers">,
): Promise<string> {
  for (;;) {
    const head = await ports.store.head()
    if (!(await ports.projector.waitUntilWritten(head, WAIT_MS))) {
      const statuses = await ports.projector.status()
      const stopped = statuses.filter((one) => one.state === "stopped")
      const names = stopped.map((one) => one.name).join(", ")
      const reason =
        names === ""
          ? "A read model took longer than a minute"
          : `Read models are stopped: ${names}`
      throw new OperatorRefused("unavailable", `${reason}. See "projections status".`)
    }
    await ports.jobWorkers.waitUntilIdle()
    await ports.flush()
    if (comparePositions(await ports.store.head(), head) === 0)
      return formatPositionToken(head, ports.storeGeneration)
  }
}

const wait = operation({
  name: "wait",
  summary: "wait until read models and jobs have caught up",
  example: "wait",
  input: z.object({}),
  run: async ({ ports }) => ({ position: await waitUntilIdle(ports) }),
})

const showClock = operation({
  name: "clock show",
  summary: "show the ledger's time",
  notes: ["Times are ISO 8601 in UTC."],
  example: "clock show --json",
  input: z.object({}),
  run: async ({ ports }) => ({
    now: new Date(ports.clock.now()).toISOString(),
    clock: ports.setClock === null ? "system" : "test",
  }),
})

/** Moving the test clock does not shorten a back-off: workers wait by the machine's clock. */
const BACK_OFF_NOTE = [
  "Does not wait for jobs that failed temporarily, for example because a provider cannot be reached. " +
    "They are retried by the machine's clock, at most five minutes later; see job list.",
]

const setClock = operation({
  name: "clock set",
  summary: "move the test clock forward to a time and run everything due until then",
  notes: [
    "Works only if the program was started with LEDGER_CLOCK=test. Times are UTC.",
    ...BACK_OFF_NOTE,
  ],
  example: "clock set 2026-12-01T00:00:00Z",
  changes: true,
  input: z.object({ to: timeInput.meta({ description: "the time", argument: "ISO" }) }),
  run: (context, { to }) => advanceTo(context, Date.parse(to)),
})

const advanceClock = operation({
  name: "clock advance",
  summary: "move the test clock forward by a duration and run everything due until then",
  notes: [
    "Works only if the program was started with LEDGER_CLOCK=test.",
    "A duration is a number and a unit: 90s, 15m, 3h or 2d.",
    ...BACK_OFF_NOTE,
  ],
  example: "clock advance 15m",
  changes: true,
  input: z.object({
    duration: z.string().meta({ description: "how far", argument: "DURATION", form: "duration" }),
  }),
  run: (context, { duration }) => {
    const match = /^(\d{1,9})([smhd])$/.exec(duration)
    if (match === null) {
      const message = `"${duration}" is not a duration. Use a number and s, m, h or d, for example 15m.`
      throw new OperatorRefused("validation", message)
    }
    const unit = UNITS_MS[match[2] as keyof typeof UNITS_MS]
    return advanceTo(context, context.ports.clock.now() + Number(match[1]) * unit)
  },
})

/** The ledger writes times as ISO 8601 with a four-digit year. */
const END_OF_TIME = Date.UTC(10_000, 0)

/** Moves the test clock from due time to due time, so that each job runs at its own time. */
async function advanceTo({ ports, progress, signal }: AdminContext, to: number) {
  const { setClock: set } = ports
  if (set === null) {
    const message = "The clock can only be moved if the program was started with LEDGER_CLOCK=test."
    throw new OperatorRefused("conflict", message)
  }
  if (to < ports.clock.now()) {
    throw new OperatorRefused(
      "validation",
      `The clock only moves forward; it is ${new Date(ports.clock.now()).toISOString()}.`,
    )
  }
  if (!(to < END_OF_TIME)) {
    throw new OperatorRefused("validation", "The clock can be set to the year 9999 at the latest.")
  }
  await waitUntilIdle(ports)
  while (!signal.aborted) {
    const due = await ports.jobs.findNextDue(ports.clock.now(), to)
    if (due === null) break
    progress(new Date(due).toISOString())
    await set(due)
    await waitUntilIdle(ports)
  }
  if (!signal.aborted) await set(to)
  await waitUntilIdle(ports)
  await ports.runHousekeeping()
  return { now: new Date(ports.clock.now()).toISOString() }
}

/** Operations on the ledger's time. */
export const clockOperations: readonly AdminOperation[] = [showClock, setClock, advanceClock, wait]
