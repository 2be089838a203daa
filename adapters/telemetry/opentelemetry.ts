/**
 * Traces for a collector of OpenTelemetry, by OTLP over HTTP. Nothing is instrumented by itself: the frame
 * says what a span is. This module is loaded where a setting names a collector, and nowhere else.
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

/** How traces are told of. */
export interface TracingOptions {
  /** The collector's address; traces go to `/v1/traces` under it. */
  readonly url: string
  /** The share of traces that begin here and are told of, 0 to 1. */
  readonly sampleRatio: number
  /** Names this process among those of the installation. */
  readonly instanceId: string
  readonly warn: (message: string, error: unknown) => void
}

/** Spans are handed over so often, */
const EXPORT_INTERVAL_MS = 1_000
/** and a collector that takes none of them for so long is not waited for. */
const EXPORT_TIMEOUT_MS = 3_000
/** It is told of once in a while that they are not taken. */
const WARN_INTERVAL_MS = 60_000

/** Each request of Node's `fetch`, before it is sent. */
const FETCH_CHANNEL = "undici:request:create"

const SPAN_KINDS: Readonly<Record<SpanOptions["kind"], SpanKind>> = {
  server: SpanKind.SERVER,
  client: SpanKind.CLIENT,
  producer: SpanKind.PRODUCER,
  consumer: SpanKind.CONSUMER,
}

/** What is done just now. */
interface ActiveSpan {
  readonly span: OtelSpan
  /** Whoever is asked in it by HTTP is told of it. */
  readonly isPropagated: boolean
}

/** Begins to tell. */
export function openTracing({ url, sampleRatio, instanceId, warn }: TracingOptions): Tracing {
  const active = new AsyncLocalStorage<ActiveSpan | null>()
  const provider = createProvider(url, sampleRatio, instanceId)
  const tracer = provider.getTracer("company-ledger")
  setGlobalErrorHandler(throttled((error) => warn("traces could not be handed over", error)))
  const begin = ({ name, kind, attributes = {} }: SpanOptions, parent: Context): OtelSpan =>
    tracer.startSpan(name, { kind: SPAN_KINDS[kind], attributes }, parent)
  // What hands over later is begun here: it is no part of the trace.
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
    span: (spanned, parent, work) => {
      const span = begin(spanned, contextOf(parent))
      const told = { span, isPropagated: spanned.kind === "client" }
      const result = active.run(told, () => work(toSpan(span)))
      if (!(result instanceof Promise)) return result
      return endWhenSettled([span], result, end) as typeof result
    },
    sharedSpan: (spanned, parents, work) => {
      const spans = [...new Set(parents)].map((parent) => begin(spanned, contextOf(parent)))
      const [span] = spans
      const doing = span === undefined ? work() : active.run({ span, isPropagated: false }, work)
      return endWhenSettled(spans, doing, end)
    },
    close: async () => {
      unsubscribe(FETCH_CHANNEL, onFetch)
      await provider.shutdown().catch((error: unknown) => {
        warn("the last traces could not be handed over", error)
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
    // Whoever calls says whether their trace is told of.
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

/** Ends spans with what came of something; what went wrong is told by its name alone. */
async function endWhenSettled<T>(
  spans: readonly OtelSpan[],
  doing: Promise<T>,
  end: (span: OtelSpan) => void,
): Promise<T> {
  try {
    return await doing
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

/** As W3C writes it; null where the trace is told of to nobody. */
function traceParentOf({ traceId, spanId, traceFlags }: SpanContext): string | null {
  return (traceFlags & TraceFlags.SAMPLED) === 0 ? null : `00-${traceId}-${spanId}-01`
}

/** The same, at most once in a while. */
function throttled(tell: (error: unknown) => void): (error: unknown) => void {
  let toldAt = -Infinity
  return (error) => {
    const now = performance.now()
    if (now - toldAt < WARN_INTERVAL_MS) return
    toldAt = now
    tell(error)
  }
}
