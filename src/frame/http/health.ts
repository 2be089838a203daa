/**
 * Health checks: `/livez` tells whether the process answers at all, and `/readyz` whether it can serve, with a
 * line per dependency. They are open to all and name nothing of companies except corrupt streams.
 */
import type { FastifyInstance } from "fastify"
import { sql } from "kysely"
import { StaleStore } from "../../../adapters/eventstore/port.ts"
import { cachedFor } from "./responses.ts"
import type { Metric } from "./metrics.ts"
import type { Ports } from "../ports.ts"
import type { SimulatedProviders } from "../provider.ts"

export const HEALTH_URLS = { live: "/livez", ready: "/readyz" } as const

const READ_METHODS = ["GET", "HEAD"]
const TEXT = "text/plain; charset=utf-8"

/** A check without an answer in this time fails. */
const ANSWER_WITHIN_MS = 1_000
/** How long a result is reused. */
const CACHE_MS = 1_000

const EVENT_STORE = "event store"
/** An append that waits this long means that the event store takes none. */
const APPEND_WAIT_MS = 2_000

type HealthPorts = Pick<
  Ports,
  "store" | "readAll" | "clock" | "projector" | "pacer" | "runner" | "jobs"
>

/** The result of a check. `warn` where other processes would not do better, so moving callers does not help. */
interface Verdict {
  readonly state: "ok" | "warn" | "fail"
  readonly name: string
  readonly detail: string
  /** The check did not answer in time. */
  readonly isLate?: true
}

/** A check of something that a slice depends on. */
export interface Probe {
  readonly name: string
  /** Whether nothing can be served without it; otherwise a failure is a warning. */
  readonly isRequired: boolean
  /** How an operator fixes it, for `doctor`. */
  readonly fix: string
  /** @throws an error whose name is shown */
  readonly check: (ports: Ports) => Promise<void>
}

/** Checks in addition to the built-in ones. */
export interface HealthOptions {
  readonly probes?: readonly Probe[]
  readonly simulatedProviders?: SimulatedProviders
}

/** Adds both paths, which answer also under pressure and during shutdown. Returns the metric of `/readyz`. */
export function addHealthRoutes(
  app: FastifyInstance,
  ports: Ports,
  additional: HealthOptions = {},
): Metric {
  let isStopping = false
  app.addHook("preClose", async () => {
    isStopping = true
  })
  // A busy machine may delay one answer, so a check fails only when it is late twice in a row.
  const lateBefore = new Set<string>()
  const check = cachedFor(CACHE_MS, ports, () => checkAll(ports, lateBefore, additional))
  // The append wait needs no query, and a cached result may be too old.
  const read = async () => (await check()).map((one) => withAppendWait(one, ports.store))
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
      const all = [servingVerdict(isStopping), ...(await read())]
      const isReady = all.every(({ state }) => state !== "fail")
      const lines = all.map(({ state, name, detail }) => `${state} ${name} ${detail}`.trimEnd())
      const text = `${[...lines, isReady ? "ready" : "not ready"].join("\n")}\n`
      const status = isReady ? 200 : 503
      return reply.code(status).header("cache-control", "no-store").type(TEXT).send(text)
    },
  })
  return {
    name: "ledger_ready",
    help: "1 if this dependency is available, 0 if `/readyz` reports that it fails.",
    labels: ["name"],
    read: async () =>
      (await read()).map(({ name, state }) => {
        return { labels: { name }, value: state === "fail" ? 0 : 1 }
      }),
  }
}

function servingVerdict(isStopping: boolean): Verdict {
  const name = "serving"
  return isStopping
    ? { state: "fail", name, detail: "the server is stopping" }
    : { state: "ok", name, detail: "" }
}

/** Fails the event store if it answers everything but appends, like a leader without its followers. */
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
  const failOnSecond = async (name: string, check: () => Promise<void>): Promise<Verdict> => {
    const found = await checkOne(name, check)
    const wasLate = lateBefore.delete(name)
    if (found.isLate !== true) return found
    lateBefore.add(name)
    return wasLate ? found : { ...found, state: "warn" }
  }
  return Promise.all([
    failOnSecond("database", async () => {
      await sql`select 1`.execute(ports.readAll)
    }),
    failOnSecond(EVENT_STORE, () => ports.store.ready()),
    checkOne("clock", async () => {
      ports.clock.now()
    }),
    readModelsVerdict(ports),
    streamsVerdict(ports),
    stuckJobsVerdict(ports),
    ...simulatedVerdict(simulatedProviders),
    ...probes.map(async ({ name, isRequired, check }): Promise<Verdict> => {
      const found = await failOnSecond(name, () => check(ports))
      return found.state === "fail" && !isRequired ? { ...found, state: "warn" } : found
    }),
  ])
}

/** Maximum number of corrupt streams to name. */
const MAX_NAMED = 10

/** Names the corrupt streams; the log and `projections status` have the reasons. */
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

/** Reports stuck jobs, which wait for an operator. */
async function stuckJobsVerdict({ jobs, clock }: HealthPorts): Promise<Verdict> {
  const name = "work"
  let stuck = 0
  const result = await checkOne(name, async () => {
    ;({ stuck } = await jobs.backlog(clock.now()))
  })
  // Charges do not depend on jobs.
  if (result.state === "fail") return { ...result, state: "warn" }
  if (stuck === 0) return result
  return { state: "warn", name, detail: `stuck: ${stuck}` }
}

/** Reports simulated providers; a warning if real money is taken for their work. */
function simulatedVerdict(simulated: SimulatedProviders | undefined): readonly Verdict[] {
  if (simulated === undefined || simulated.names.length === 0) return []
  const detail = simulated.names.join(", ")
  return [{ state: simulated.takesRealMoney ? "warn" : "ok", name: "simulated", detail }]
}

/** Runs a check. Only the name of an error is reported, because its message may contain an address. */
async function checkOne(name: string, check: () => Promise<void>): Promise<Verdict> {
  const late = Symbol("late")
  const { promise, resolve } = Promise.withResolvers<typeof late>()
  const timer = setTimeout(() => resolve(late), ANSWER_WITHIN_MS)
  try {
    const found = await Promise.race([check(), promise])
    if (found !== late) return { state: "ok", name, detail: "" }
    return { state: "fail", name, detail: `no answer in ${ANSWER_WITHIN_MS} ms`, isLate: true }
  } catch (error) {
    return { state: "fail", name, detail: errorText(error) }
  } finally {
    clearTimeout(timer)
  }
}

function errorText(error: unknown): string {
  if (error instanceof StaleStore) return "it is an older copy or a different store"
  return error instanceof Error ? error.name : "a fault"
}

async function readModelsVerdict({ projector }: HealthPorts): Promise<Verdict> {
  const name = "read models"
  let stopped: readonly string[] = []
  const result = await checkOne(name, async () => {
    const status = await projector.status()
    stopped = status.filter((one) => one.state === "stopped").map((one) => one.name)
  })
  // Read models stop in all processes, and charges do not depend on them.
  if (result.state === "fail") return { ...result, state: "warn" }
  if (stopped.length === 0) return result
  return { state: "warn", name, detail: `stopped: ${stopped.join(", ")}` }
}
