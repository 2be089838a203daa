/** What follows what across calls, appends, work and providers, for whoever collects traces. */

/** What is told of a span. Never a name, a number, an address or what somebody wrote. */
export type SpanAttributes = Readonly<Record<string, string | number>>

/** Something that takes a time. */
export interface SpanOptions {
  /** Of few words that come again: no id. */
  readonly name: string
  /** Who asks whom: a call comes in, a provider is asked, work was left for later. */
  readonly kind: "server" | "client" | "producer" | "consumer"
  readonly attributes?: SpanAttributes
}

/** A span that has begun. */
export interface Span {
  readonly setAttributes: (attributes: SpanAttributes) => void
  /** It did not come to what it was for. @param why a name of few words that come again */
  readonly fail: (why: string) => void
}

/** Tells of what is done. */
export interface Tracing {
  /** The `traceparent` of what is done just now; null where nobody is told of it. */
  readonly currentTraceParent: () => string | null
  /**
   * Does something that ends when its promise settles; what answers at once is not told of.
   *
   * @param parent the `traceparent` that it follows from; null, or one that is none: nothing
   */
  readonly span: <T>(spanned: SpanOptions, parent: string | null, work: (span: Span) => T) => T
  /** Does something that several wait for, told of in the trace of each. */
  readonly sharedSpan: <T>(
    spanned: SpanOptions,
    parents: readonly string[],
    work: () => Promise<T>,
  ) => Promise<T>
  /** Hands over what was not yet; resolves within a few seconds, whatever becomes of it. */
  readonly close: () => Promise<void>
}

const NO_SPAN: Span = { setAttributes: () => undefined, fail: () => undefined }

/** Tells nobody. */
export const NO_TRACING: Tracing = {
  currentTraceParent: () => null,
  span: (_spanned, _parent, work) => work(NO_SPAN),
  sharedSpan: (_spanned, _parents, work) => work(),
  close: async () => undefined,
}
