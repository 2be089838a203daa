/**
 * `/metrics` for Prometheus: how calls end and how long they take, how far the read models are, how
 * the process is. Open to everybody, as such things are on a network of one's own: it names routes, read
 * models and corrupt streams, and no person or key.
 */
import type { FastifyInstance } from "fastify"
import type { CounterConfiguration } from "prom-client"
import { Counter, Gauge, Histogram, Registry, collectDefaultMetrics } from "prom-client"
import type { Admission } from "./router-entries.ts"
import type { CounterLabels } from "../counters.ts"
import { cachedFor, sentRefusalCode } from "./responses.ts"
import type { Ports } from "../ports.ts"

/** Where they are. */
export const METRICS_URL = "/metrics"

/** So many corrupt streams are named. */
const MAX_NAMED = 100

/** What is asked of the database holds for so long. */
const CACHE_MS = 1_000

/** From a read out of memory to the longest that a call may take. */
const DURATION_BUCKETS = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10]

/** A figure that a slice tells, as it stands when it is asked for. */
export interface Metric {
  /** `ledger_<what>`, with its unit at the end. */
  readonly name: string
  readonly help: string
  readonly labels?: readonly string[]
  /** It only grows, from where the process began; default it stands for what is just now. */
  readonly isCounter?: true
  readonly read: (
    ports: Ports,
  ) => Promise<
    readonly { readonly labels?: Readonly<Record<string, string>>; readonly value: number }[]
  >
}

/** Adds `/metrics`, and counts every call from here on. */
export function addMetrics(
  app: FastifyInstance,
  ports: Ports,
  admission: Admission,
  measures: readonly Metric[] = [],
): void {
  const registry = new Registry()
  const registers = [registry]
  collectDefaultMetrics({ register: registry, prefix: "ledger_" })
  const calls = new Histogram({
    name: "ledger_call_seconds",
    help: "Calls of the API by route, verb and status: how many, and how long they took.",
    labelNames: ["route", "method", "status"] as const,
    buckets: DURATION_BUCKETS,
    registers,
  })
  const refusals = new Counter({
    name: "ledger_refusals_total",
    help: "Calls of the API that were refused, by route and error.",
    labelNames: ["route", "error"] as const,
    registers,
  })
  for (const one of [...programMetrics(ports, admission), ...PROCESS_METRICS, ...measures]) {
    registry.registerMetric(metricOf(ports, one))
  }
  app.addHook("onResponse", async (request, reply) => {
    const route = request.routeOptions.url ?? "unknown"
    const { method } = request
    calls.observe({ route, method, status: reply.statusCode }, reply.elapsedTime / 1_000)
    const error = sentRefusalCode(reply)
    if (error !== null) refusals.inc({ route, error })
  })
  app.route({
    method: ["GET", "HEAD"],
    url: METRICS_URL,
    config: { pressureHandler: () => undefined },
    handler: async (_request, reply) => {
      return reply.type(registry.contentType).send(await registry.metrics())
    },
  })
}

/** A figure. Where it cannot be read there is no series of it, and the others are shown. */
function metricOf(ports: Ports, { name, help, labels = [], isCounter, read }: Metric) {
  const Kind: new (options: CounterConfiguration<string>) => Counter = isCounter ? Counter : Gauge
  return new Kind({
    name,
    help,
    labelNames: [...labels],
    registers: [],
    async collect() {
      const found = await read(ports).catch(() => [])
      this.reset()
      for (const { labels: labelled = {}, value } of found) this.inc(labelled, value)
    },
  })
}

/** What this process counts by itself. */
function counterMetric(
  [count, name]: readonly [keyof CounterLabels, string],
  help: string,
  labels: readonly string[],
): Metric {
  return { name, help, labels, isCounter: true, read: async ({ counters }) => counters.read(count) }
}

/** What is charged and stored. */
const PROCESS_METRICS: readonly Metric[] = [
  counterMetric(
    ["facts", "ledger_facts_total"],
    "Facts that this process stored, by type: `Charged` are charges.",
    ["type"],
  ),
  counterMetric(
    ["refused_charges", "ledger_refused_charges_total"],
    "Charges that were refused, by code and the limit that refused them; no holder: the funds did.",
    ["code", "holder", "class", "period"],
  ),
  counterMetric(
    ["webhook_events", "ledger_webhook_events_total"],
    "What providers called back with: taken, known already, or of nobody here.",
    ["provider", "result"],
  ),
  counterMetric(
    ["appends", "ledger_event_store_appends_total"],
    "Appends to the event store, by what came of them.",
    ["result"],
  ),
  counterMetric(
    ["append_seconds", "ledger_event_store_append_seconds_total"],
    "How long the appends took together.",
    ["result"],
  ),
  {
    name: "ledger_database_connections",
    help: "Connections to PostgreSQL by pool and state; waiting: who waits for one.",
    labels: ["pool", "state"],
    read: async ({ poolStats }) =>
      poolStats().flatMap(({ pool, ...states }) =>
        Object.entries(states).map(([state, value]) => ({ labels: { pool, state }, value })),
      ),
  },
]

/** What is measured of any program, whatever its slices are. */
function programMetrics(
  ports: Pick<Ports, "clock" | "pacer" | "jobs">,
  admission: Admission,
): readonly Metric[] {
  // Two figures are of one look at the table.
  const backlog = cachedFor(CACHE_MS, ports, () => backlogIn(ports))
  return [
    {
      name: "ledger_calls_in_hand",
      help: "Calls of the API that are being served or wait for it.",
      read: async () => [{ value: admission.activeCalls() }],
    },
    {
      name: "ledger_damaged_streams",
      help: "Streams of events that were found corrupt.",
      read: async ({ runner }) => [{ value: runner.corruptStreams().length }],
    },
    {
      name: "ledger_corrupt_stream",
      help: "1 for each corrupt stream, of the first 100 of them.",
      labels: ["stream"],
      read: async ({ runner }) =>
        runner
          .corruptStreams()
          .slice(0, MAX_NAMED)
          .map(({ corruption: { stream } }) => ({ labels: { stream }, value: 1 })),
    },
    {
      name: "ledger_work_rows",
      help: "Rows of work by state: due (in hand or waiting out a back-off too), parked for an operator.",
      labels: ["state"],
      read: async () =>
        (await backlog()).map(({ state, rows }) => ({ labels: { state }, value: rows })),
    },
    {
      name: "ledger_work_oldest_seconds",
      help: "How long the oldest row of work in a state has been due.",
      labels: ["state"],
      read: async () =>
        (await backlog()).map(({ state, seconds }) => ({ labels: { state }, value: seconds })),
    },
    {
      name: "ledger_read_model_stopped",
      help: "1 where a read model stopped at a fact it could not take.",
      labels: ["name"],
      read: async ({ projector }) =>
        (await projector.status()).map(({ name, state }) => {
          return { labels: { name }, value: state === "stopped" ? 1 : 0 }
        }),
    },
    {
      name: "ledger_read_model_behind",
      help: "Facts handed over to a read model that this process keeps up, and not yet written.",
      labels: ["name"],
      read: async ({ projector }) =>
        (await projector.status()).flatMap(({ name, behind }) => {
          return behind === null ? [] : [{ labels: { name }, value: behind }]
        }),
    },
    {
      name: "ledger_read_model_behind_seconds",
      help: "How long the oldest fact has waited that a read model has not written yet.",
      labels: ["name"],
      read: async ({ projector }) =>
        (await projector.status()).flatMap(({ name, behindMs }) => {
          return behindMs === null ? [] : [{ labels: { name }, value: behindMs / 1_000 }]
        }),
    },
  ]
}

/** Work to do, by state. */
async function backlogIn({ jobs, clock }: Pick<Ports, "clock" | "jobs">) {
  const now = clock.now()
  const { due, dueSince, stuck, stuckSince } = await jobs.backlog(now)
  const secondsSince = (since: number | null) => (since === null ? 0 : (now - since) / 1_000)
  return [
    { state: "due", rows: due, seconds: secondsSince(dueSince) },
    { state: "parked", rows: stuck, seconds: secondsSince(stuckSince) },
  ]
}
