/** What happened in this process since it began, counted for `/metrics`. */

/** Labels of a figure, by name. They never hold an id: every value makes a series of its own. */
export type MetricLabels = Readonly<Record<string, string>>

/** What is counted. */
export interface CounterLabels {
  /** Facts that were stored. */
  readonly facts: "type"
  /** Appends to the event store, by what came of them: `stored`, or the name of the error. */
  readonly appends: "result"
  /** How long they took together, seconds. */
  readonly append_seconds: "result"
  /** What providers called back with: `taken`, `known` already, or of `nobody` here. */
  readonly webhook_events: "provider" | "result"
  /** Audits that were carried out here: `held`, or `broken` where one found something. */
  readonly audits: "result"
  /** Charges that were refused, by the code, and the limit that did it. */
  readonly refused_charges: "code" | "holder" | "class" | "period"
}

/** Counts of this process. */
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

/** Begins to count. */
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
