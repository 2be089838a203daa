/** Tracing across calls, appends, jobs and providers. */

/** Attributes of a span. They never contain a name, a number, an address or text of a person. */
export type SpanAttributes = Readonly<Record<string, string | number>>

export interface SpanOptions {
  /** One of few fixed names, without ids. */
  readonly name: string
  /** server: an incoming call; client: a call to a provider; producer and consumer: deferred work. */
  readonly kind: "server" | "client" | "producer" | "consumer"
  readonly attributes?: SpanAttributes
}

export interface Span {
  readonly setAttributes: (attributes: SpanAttributes) => void
  /** Marks the span as failed. @param why one of few fixed names */
  readonly fail: (why: string) => void
}

export interface Tracing {
  /** The `traceparent` of the current span; null if it is not recorded. */
  readonly currentTraceParent: () => string | null
  /**
   * Runs work in a span that ends when its promise settles; synchronous work is not recorded.
   *
   * @param parent the `traceparent` of the parent span; null, or an invalid one, for none
   */
  readonly span: <T>(options: SpanOptions, parent: string | null, work: (span: Span) => T) => T
  /** Runs work that several callers wait for, and records it in the trace of each. */
  readonly sharedSpan: <T>(
    options: SpanOptions,
    parents: readonly string[],
    work: () => Promise<T>,
  ) => Promise<T>
  /** Exports remaining spans; resolves within a few seconds in any case. */
  readonly close: () => Promise<void>
}

const NO_SPAN: Span = { setAttributes: () => undefined, fail: () => undefined }

/** Tracing that records nothing. */
export const NO_TRACING: Tracing = {
  currentTraceParent: () => null,
  span: (_options, _parent, work) => work(NO_SPAN),
  sharedSpan: (_options, _parents, work) => work(),
  close: async () => undefined,
}
