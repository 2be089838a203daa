/** Several figures of one measurement: the first of them takes it, in every round. */

/** A measurement that several figures are read from. */
export interface SharedMeasurement<T> {
  /** What measures each figure; the first one measures, the others read what it came to. */
  readonly figures: (
    read: Readonly<Record<string, (measured: T) => number>>,
  ) => Readonly<Record<string, () => Promise<number>>>
  /** What was measured last. @throws where nothing was */
  readonly last: () => T
}

/** Makes one of what measures. */
export function shareMeasurement<T>(measure: () => Promise<T>): SharedMeasurement<T> {
  let measured: { readonly value: T } | null = null
  const last = (): T => {
    if (measured === null) throw new Error("nothing was measured yet")
    return measured.value
  }
  return {
    last,
    figures: (read) =>
      Object.fromEntries(
        Object.entries(read).map(([name, of], i) => [
          name,
          async () => {
            if (i === 0) measured = { value: await measure() }
            return of(last())
          },
        ]),
      ),
  }
}
