/**
 * Exports traces to an OpenTelemetry collector, by OTLP over HTTP. There is no automatic instrumentation: the
 * frame creates the spans. This module is loaded only if a collector is configured.
 */
import { AsyncLocalStorage } from "node:async_hooks"
import { subscribe, unsubscribe } from "node:diagnostics_channel"
import type { Context, Span as OtelSpan, SpanContext } from "@opentelemetry/api"
import { ROOT_CONTEXT, SpanKind, SpanStatusCode, TraceFlags, trace } from "@opentelemetry/api"
import { parseTraceParent, setGlobalErrorHandler } from "@opentelemetry/core"
import { OTLPTraceExporter } from "@opentelemetry/exporter-trace-otlp-http"
import { resourceFromAttributes } from "@opentelemetry/resources"
import {
  BatchSpanProcessor,
  ParentBasedSampler,
  TraceIdRatioBasedSampler,
  TracerProvider,
} from "@opentelemetry/sdk-trace"
import type { Span, SpanOptions, Tracing } from "./port.ts"

export interface TracingOptions {
  /** The collector's base URL; traces are sent to `/v1/traces` below it. */
  readonly url: string
  /** The share of traces started here that are recorded, 0 to 1. */
  readonly sampleRatio: number
  readonly instanceId: string
  readonly warn: (message: string, error: unknown) => void
}

const EXPORT_INTERVAL_MS = 1_000
const EXPORT_TIMEOUT_MS = 3_000
const WARN_INTERVAL_MS = 60_000

/** Node publishes each `fetch` request here before sending it. */
const FETCH_CHANNEL = "undici:request:create"

const SPAN_KINDS: Readonly<Record<SpanOptions["kind"], SpanKind>> = {
  server: SpanKind.SERVER,
  client: SpanKind.CLIENT,
  producer: SpanKind.PRODUCER,
  consumer: SpanKind.CONSUMER,
}

interface ActiveSpan {
  readonly span: OtelSpan
  /** Whether HTTP requests in it carry its `traceparent`. */
  readonly isPropagated: boolean
}

/** Starts tracing. */
export function openTracing({ url, sampleRatio, instanceId, warn }: TracingOptions): Tracing {
  const active = new AsyncLocalStorage<ActiveSpan | null>()
  const provider = createProvider(url, sampleRatio, instanceId)
  const tracer = provider.getTracer("company-ledger")
  setGlobalErrorHandler(throttled((error) => warn("traces could not be exported", error)))
  const begin = ({ name, kind, attributes = {} }: SpanOptions, parent: Context): OtelSpan =>
    tracer.startSpan(name, { kind: SPAN_KINDS[kind], attributes }, parent)
  // Ending a span schedules its export, which must not be part of the trace.
  const end = (span: OtelSpan): void => active.run(null, () => span.end())
  const currentTraceParent = (): string | null => {
    const context = active.getStore()?.span.spanContext()
    return context === undefined ? null : traceParentOf(context)
  }
  const onFetch = (message: unknown): void => {
    const parent = active.getStore()?.isPropagated === true ? currentTraceParent() : null
    if (parent !== null) {
      const { request } = message as { request: { addHeader: (name: string, to: string) => void } }
      request.addHeader("traceparent", parent)
    }
  }
  subscribe(FETCH_CHANNEL, onFetch)
  return {
    currentTraceParent,
    span: (options, parent, work) => {
      const span = begin(options, contextOf(parent))
      const activeSpan = { span, isPropagated: options.kind === "client" }
      const result = active.run(activeSpan, () => work(toSpan(span)))
      if (!(result instanceof Promise)) return result
      return endWhenSettled([span], result, end) as typeof result
    },
    sharedSpan: (options, parents, work) => {
      const spans = [...new Set(parents)].map((parent) => begin(options, contextOf(parent)))
      const [span] = spans
      const result = span === undefined ? work() : active.run({ span, isPropagated: false }, work)
      return endWhenSettled(spans, result, end)
    },
    close: async () => {
      unsubscribe(FETCH_CHANNEL, onFetch)
      await provider.shutdown().catch((error: unknown) => {
        warn("the last traces could not be exported", error)
      })
    },
  }
}

function createProvider(url: string, share: number, instance: string): TracerProvider {
  const exporter = new OTLPTraceExporter({
    url: `${url.replace(/\/+$/, "")}/v1/traces`,
    timeoutMillis: EXPORT_TIMEOUT_MS,
  })
  return new TracerProvider({
    resource: resourceFromAttributes({
      "service.name": "company-ledger",
      "service.instance.id": instance,
    }),
    // The caller's `traceparent` decides whether a trace is recorded.
    sampler: new ParentBasedSampler({ root: new TraceIdRatioBasedSampler(share) }),
    spanProcessors: [
      new BatchSpanProcessor({
        exporter,
        scheduledDelayMillis: EXPORT_INTERVAL_MS,
        exportTimeoutMillis: EXPORT_TIMEOUT_MS,
      }),
    ],
  })
}

/** Ends spans when a promise settles; an error is recorded by its name only. */
async function endWhenSettled<T>(
  spans: readonly OtelSpan[],
  work: Promise<T>,
  end: (span: OtelSpan) => void,
): Promise<T> {
  try {
    return await work
  } catch (error) {
    const why = error instanceof Error ? error.name : "a fault"
    for (const span of spans) toSpan(span).fail(why)
    throw error
  } finally {
    for (const span of spans) end(span)
  }
}

const toSpan = (span: OtelSpan): Span => ({
  setAttributes: (attributes) => void span.setAttributes(attributes),
  fail: (why) => {
    span.setAttribute("error.type", why)
    span.setStatus({ code: SpanStatusCode.ERROR })
  },
})

function contextOf(parent: string | null): Context {
  const context = parent === null ? null : parseTraceParent(parent)
  if (context === null) return ROOT_CONTEXT
  return trace.setSpanContext(ROOT_CONTEXT, { ...context, isRemote: true })
}

/** In W3C format; null if the trace is not recorded. */
function traceParentOf({ traceId, spanId, traceFlags }: SpanContext): string | null {
  return (traceFlags & TraceFlags.SAMPLED) === 0 ? null : `00-${traceId}-${spanId}-01`
}

function throttled(report: (error: unknown) => void): (error: unknown) => void {
  let reportedAt = -Infinity
  return (error) => {
    const now = performance.now()
    if (now - reportedAt < WARN_INTERVAL_MS) return
    reportedAt = now
    report(error)
  }
}
