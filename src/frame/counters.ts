/** Counters of this process since its start, for `/metrics`. */

/** Labels of a metric. They never hold an id, because each value creates a new time series. */
export type MetricLabels = Readonly<Record<string, string>>

/** The counters, each with the labels it takes. */
export interface CounterLabels {
  /** Facts that were stored. */
  readonly facts: "type"
  /** Appends to the event store; `result` is `stored` or the name of the error. */
  readonly appends: "result"
  /** Total duration of these appends, seconds. */
  readonly append_seconds: "result"
  /** Webhook events: `taken`, already `known`, or for no company here (`unowned`). */
  readonly webhook_events: "provider" | "result"
  /** Audits that ran in this process: `held`, or `broken` if the audit found a fault. */
  readonly audits: "result"
  /** Rejected charges, by error code and the limit that rejected them. */
  readonly refused_charges: "code" | "holder" | "class" | "period"
}

export interface Counters {
  readonly increment: <N extends keyof CounterLabels>(
    name: N,
    labels: Readonly<Record<CounterLabels[N], string>>,
    by?: number,
  ) => void
  readonly read: (
    name: keyof CounterLabels,
  ) => readonly { readonly labels: MetricLabels; readonly value: number }[]
}

/** Creates counters that start at zero. */
export function openCounters(): Counters {
  const all = new Map<string, Map<string, { readonly labels: MetricLabels; value: number }>>()
  return {
    increment: (name, labels, by = 1) => {
      const series = all.get(name) ?? new Map<string, { labels: MetricLabels; value: number }>()
      all.set(name, series)
      const key = JSON.stringify(labels)
      const one = series.get(key) ?? { labels, value: 0 }
      series.set(key, one)
      one.value += by
    },
    read: (name) => [...(all.get(name)?.values() ?? [])],
  }
}
