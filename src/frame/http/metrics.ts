/**
 * `/metrics` for Prometheus: calls, read models, jobs and the process. It is open to all, for use on a private
 * network, and names routes, read models and corrupt streams, but no person or key.
 */
import type { FastifyInstance } from "fastify"
import type { CounterConfiguration } from "prom-client"
import { Counter, Gauge, Histogram, Registry, collectDefaultMetrics } from "prom-client"
import type { Admission } from "./router-entries.ts"
import type { CounterLabels } from "../counters.ts"
import { cachedFor, sentRefusalCode } from "./responses.ts"
import type { Ports } from "../ports.ts"

export const METRICS_URL = "/metrics"

/** Maximum number of corrupt streams to name. */
const MAX_NAMED = 100

/** How long results of database queries are reused. */
const CACHE_MS = 1_000

/** From a read from memory to the longest call. */
const DURATION_BUCKETS = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10]

export interface Metric {
  /** `ledger_<name>`, ending with its unit. */
  readonly name: string
  readonly help: string
  readonly labels?: readonly string[]
  /** Whether it only grows from the process start; default it is a current value. */
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
  additional: readonly Metric[] = [],
): void {
  const registry = new Registry()
  const registers = [registry]
  collectDefaultMetrics({ register: registry, prefix: "ledger_" })
  const calls = new Histogram({
    name: "ledger_call_seconds",
    help: "API calls by route, method and status: number and duration.",
    labelNames: ["route", "method", "status"] as const,
    buckets: DURATION_BUCKETS,
    registers,
  })
  const refusals = new Counter({
    name: "ledger_refusals_total",
    help: "Rejected API calls, by route and error.",
    labelNames: ["route", "error"] as const,
    registers,
  })
  for (const one of [...programMetrics(ports, admission), ...PROCESS_METRICS, ...additional]) {
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

/** Creates a metric. One that cannot be read has no series; the others are unaffected. */
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

function counterMetric(
  [count, name]: readonly [keyof CounterLabels, string],
  help: string,
  labels: readonly string[],
): Metric {
  return { name, help, labels, isCounter: true, read: async ({ counters }) => counters.read(count) }
}

const PROCESS_METRICS: readonly Metric[] = [
  counterMetric(
    ["facts", "ledger_facts_total"],
    "Facts that this process stored, by type: `Charged` are charges.",
    ["type"],
  ),
  counterMetric(
    ["refused_charges", "ledger_refused_charges_total"],
    "Charges that were rejected, by code and the limit that rejected them; without a holder, the funds did.",
    ["code", "holder", "class", "period"],
  ),
  counterMetric(
    ["webhook_events", "ledger_webhook_events_total"],
    "Webhook events from providers, by result: taken, known already, or for no company here.",
    ["provider", "result"],
  ),
  counterMetric(
    ["appends", "ledger_event_store_appends_total"],
    "Appends to the event store, by result.",
    ["result"],
  ),
  counterMetric(
    ["append_seconds", "ledger_event_store_append_seconds_total"],
    "Total duration of the appends.",
    ["result"],
  ),
  {
    name: "ledger_database_connections",
    help: "Connections to PostgreSQL by pool and state; `waiting` counts callers without one.",
    labels: ["pool", "state"],
    read: async ({ poolStats }) =>
      poolStats().flatMap(({ pool, ...states }) =>
        Object.entries(states).map(([state, value]) => ({ labels: { pool, state }, value })),
      ),
  },
]

/** The metrics of every program, whatever its slices. */
function programMetrics(
  ports: Pick<Ports, "clock" | "pacer" | "jobs">,
  admission: Admission,
): readonly Metric[] {
  // Two metrics share one query.
  const backlog = cachedFor(CACHE_MS, ports, () => backlogIn(ports))
  return [
    {
      name: "ledger_calls_in_progress",
      help: "API calls that are being served or wait for it.",
      read: async () => [{ value: admission.activeCalls() }],
    },
    {
      name: "ledger_corrupt_streams",
      help: "Streams found corrupt.",
      read: async ({ runner }) => [{ value: runner.corruptStreams().length }],
    },
    {
      name: "ledger_corrupt_stream",
      help: "1 for each corrupt stream, up to 100 streams.",
      labels: ["stream"],
      read: async ({ runner }) =>
        runner
          .corruptStreams()
          .slice(0, MAX_NAMED)
          .map(({ corruption: { stream } }) => ({ labels: { stream }, value: 1 })),
    },
    {
      name: "ledger_jobs",
      help: "Jobs by state: `due` (also running or in back-off) or `stuck`, waiting for an operator.",
      labels: ["state"],
      read: async () =>
        (await backlog()).map(({ state, rows }) => ({ labels: { state }, value: rows })),
    },
    {
      name: "ledger_jobs_oldest_seconds",
      help: "How long the oldest job in a state has been due.",
      labels: ["state"],
      read: async () =>
        (await backlog()).map(({ state, seconds }) => ({ labels: { state }, value: seconds })),
    },
    {
      name: "ledger_read_model_stopped",
      help: "1 if a read model stopped at a fact that it could not apply.",
      labels: ["name"],
      read: async ({ projector }) =>
        (await projector.status()).map(({ name, state }) => {
          return { labels: { name }, value: state === "stopped" ? 1 : 0 }
        }),
    },
    {
      name: "ledger_read_model_behind",
      help: "Facts that a read model of this process has read and not yet written.",
      labels: ["name"],
      read: async ({ projector }) =>
        (await projector.status()).flatMap(({ name, behind }) => {
          return behind === null ? [] : [{ labels: { name }, value: behind }]
        }),
    },
    {
      name: "ledger_read_model_behind_seconds",
      help: "Age of the oldest fact that a read model has not written yet.",
      labels: ["name"],
      read: async ({ projector }) =>
        (await projector.status()).flatMap(({ name, behindMs }) => {
          return behindMs === null ? [] : [{ labels: { name }, value: behindMs / 1_000 }]
        }),
    },
  ]
}

/** Counts the jobs, by state. */
async function backlogIn({ jobs, clock }: Pick<Ports, "clock" | "jobs">) {
  const now = clock.now()
  const { due, dueSince, stuck, stuckSince } = await jobs.backlog(now)
  const secondsSince = (since: number | null) => (since === null ? 0 : (now - since) / 1_000)
  return [
    { state: "due", rows: due, seconds: secondsSince(dueSince) },
    { state: "stuck", rows: stuck, seconds: secondsSince(stuckSince) },
  ]
}
