/**
 * What a supervisor asks: `/livez`, whether the process answers at all, and `/readyz`, whether it can
 * serve, a line for each thing that this takes. They are open to everybody, and of companies they tell no
 * more than the names of corrupt streams.
 */
import type { FastifyInstance } from "fastify"
import { sql } from "kysely"
import { StaleStore } from "../../../adapters/eventstore/port.ts"
import { cachedFor } from "./responses.ts"
import type { Metric } from "./metrics.ts"
import type { Ports } from "../ports.ts"
import type { SimulatedProviders } from "../provider.ts"

/** Where they are. */
export const HEALTH_URLS = { live: "/livez", ready: "/readyz" } as const

const READ_METHODS = ["GET", "HEAD"]
const TEXT = "text/plain; charset=utf-8"

/** A thing that does not answer in so long is not there. */
const ANSWER_WITHIN_MS = 1_000
/** Many who ask at once, or in a row, are told what was found last. */
const CACHE_MS = 1_000

const EVENT_STORE = "event store"
/** Where an append waits for so long, the event store takes none. */
const APPEND_WAIT_MS = 2_000

/** What the checks look at. */
type HealthPorts = Pick<
  Ports,
  "store" | "readAll" | "clock" | "projector" | "pacer" | "runner" | "jobs"
>

/**
 * `warn`: what others of the installation would not do better, so that sending callers elsewhere helps
 * nobody.
 */
interface Verdict {
  readonly state: "ok" | "warn" | "fail"
  readonly name: string
  readonly detail: string
  /** It did not answer in time. */
  readonly isLate?: true
}

/** Something that a slice stands on. */
export interface Probe {
  readonly name: string
  /** Whether nothing can be served without it; else the others of the installation would do no better. */
  readonly isRequired: boolean
  /** How an operator fixes what is wrong, as `doctor` says it. */
  readonly fix: string
  /** @throws whatever is wrong: its name is shown */
  readonly check: (ports: Ports) => Promise<void>
}

/** What is looked at beside what every program stands on. */
export interface HealthOptions {
  readonly probes?: readonly Probe[]
  readonly simulatedProviders?: SimulatedProviders
}

/**
 * Adds both. What is under pressure, or about to stop, still answers here. Answers the figure by which
 * `/metrics` tells the same.
 */
export function addHealthRoutes(
  app: FastifyInstance,
  ports: Ports,
  also: HealthOptions = {},
): Metric {
  let isStopping = false
  app.addHook("preClose", async () => {
    isStopping = true
  })
  // Of a busy machine one answer may be late: only what is late twice in a row is not there.
  const lateBefore = new Set<string>()
  const lookAgain = cachedFor(CACHE_MS, ports, () => checkAll(ports, lateBefore, also))
  // How long appends wait is known without asking, and what was found a second ago may be too old.
  const look = async () => (await lookAgain()).map((one) => withAppendWait(one, ports.store))
  const config = { pressureHandler: () => undefined }
  app.route({
    method: READ_METHODS,
    url: HEALTH_URLS.live,
    config,
    handler: async (_request, reply) => reply.type(TEXT).send("ok\n"),
  })
  app.route({
    method: READ_METHODS,
    url: HEALTH_URLS.ready,
    config,
    handler: async (_request, reply) => {
      const all = [servingVerdict(isStopping), ...(await look())]
      const isReady = all.every(({ state }) => state !== "fail")
      const lines = all.map(({ state, name, detail }) => `${state} ${name} ${detail}`.trimEnd())
      const text = `${[...lines, isReady ? "ready" : "not ready"].join("\n")}\n`
      const status = isReady ? 200 : 503
      return reply.code(status).header("cache-control", "no-store").type(TEXT).send(text)
    },
  })
  return {
    name: "ledger_ready",
    help: "1 where a thing that serving takes is there, 0 where `/readyz` says that it fails.",
    labels: ["name"],
    read: async () =>
      (await look()).map(({ name, state }) => {
        return { labels: { name }, value: state === "fail" ? 0 : 1 }
      }),
  }
}

function servingVerdict(isStopping: boolean): Verdict {
  const name = "serving"
  return isStopping
    ? { state: "fail", name, detail: "it is stopping" }
    : { state: "ok", name, detail: "" }
}

/** The event store fails where it answers everything but appends, as a leader without its followers does. */
function withAppendWait(
  found: Verdict,
  { oldestAppendWaitMs }: Pick<Ports["store"], "oldestAppendWaitMs">,
): Verdict {
  if (
    found.name !== EVENT_STORE ||
    found.state === "fail" ||
    oldestAppendWaitMs() < APPEND_WAIT_MS
  ) {
    return found
  }
  const detail = `an append has waited for ${APPEND_WAIT_MS} ms`
  return { state: "fail", name: EVENT_STORE, detail }
}

async function checkAll(
  ports: Ports,
  lateBefore: Set<string>,
  { probes = [], simulatedProviders }: HealthOptions,
): Promise<readonly Verdict[]> {
  const twice = async (name: string, look: () => Promise<void>): Promise<Verdict> => {
    const found = await checkOne(name, look)
    const wasLate = lateBefore.delete(name)
    if (found.isLate !== true) return found
    lateBefore.add(name)
    return wasLate ? found : { ...found, state: "warn" }
  }
  return Promise.all([
    twice("database", async () => {
      await sql`select 1`.execute(ports.readAll)
    }),
    twice(EVENT_STORE, () => ports.store.ready()),
    checkOne("clock", async () => {
      ports.clock.now()
    }),
    readModelsVerdict(ports),
    streamsVerdict(ports),
    stuckJobsVerdict(ports),
    ...simulatedVerdict(simulatedProviders),
    ...probes.map(async ({ name, isRequired, check }): Promise<Verdict> => {
      const found = await twice(name, () => check(ports))
      return found.state === "fail" && !isRequired ? { ...found, state: "warn" } : found
    }),
  ])
}

/** So many corrupt streams are named. */
const MAX_NAMED = 10

/** Names the corrupt streams; why they are is in the log and in `projections status`. */
function streamsVerdict({ runner }: HealthPorts): Verdict {
  const name = "streams"
  const all = runner
    .corruptStreams()
    .map(({ corruption }) => `${corruption.stream} from revision ${corruption.revision}`)
  if (all.length === 0) return { state: "ok", name, detail: "" }
  const named = all.slice(0, MAX_NAMED).join(", ")
  const more = all.length > MAX_NAMED ? ` and ${all.length - MAX_NAMED} more` : ""
  return { state: "warn", name, detail: `corrupt: ${named}${more}` }
}

/** What waits for an operator: nobody else will do it. */
async function stuckJobsVerdict({ jobs, clock }: HealthPorts): Promise<Verdict> {
  const name = "work"
  let stuck = 0
  const looked = await checkOne(name, async () => {
    ;({ stuck } = await jobs.backlog(clock.now()))
  })
  // Charges do not need it.
  if (looked.state === "fail") return { ...looked, state: "warn" }
  if (stuck === 0) return looked
  return { state: "warn", name, detail: `stuck: ${stuck}` }
}

/** What is only pretended is always said, and warned of where real money is taken for it. */
function simulatedVerdict(simulated: SimulatedProviders | undefined): readonly Verdict[] {
  if (simulated === undefined || simulated.names.length === 0) return []
  const detail = simulated.names.join(", ")
  return [{ state: simulated.takesRealMoney ? "warn" : "ok", name: "simulated", detail }]
}

/** Looks at one thing; what it throws is not said, for there may be an address in it. */
async function checkOne(name: string, look: () => Promise<void>): Promise<Verdict> {
  const late = Symbol("late")
  const { promise, resolve } = Promise.withResolvers<typeof late>()
  const timer = setTimeout(() => resolve(late), ANSWER_WITHIN_MS)
  try {
    const found = await Promise.race([look(), promise])
    if (found !== late) return { state: "ok", name, detail: "" }
    return { state: "fail", name, detail: `no answer in ${ANSWER_WITHIN_MS} ms`, isLate: true }
  } catch (error) {
    return { state: "fail", name, detail: errorText(error) }
  } finally {
    clearTimeout(timer)
  }
}

function errorText(error: unknown): string {
  if (error instanceof StaleStore) return "it is an older copy, or another store"
  return error instanceof Error ? error.name : "a fault"
}

async function readModelsVerdict({ projector }: HealthPorts): Promise<Verdict> {
  const name = "read models"
  let stopped: readonly string[] = []
  const looked = await checkOne(name, async () => {
    const status = await projector.status()
    stopped = status.filter((one) => one.state === "stopped").map((one) => one.name)
  })
  // Elsewhere they stand still as well, and charges do not need them.
  if (looked.state === "fail") return { ...looked, state: "warn" }
  if (stopped.length === 0) return looked
  return { state: "warn", name, detail: `stopped: ${stopped.join(", ")}` }
}
