/** Several figures of one measurement, which the first figure takes in every round. */

/** A measurement that several figures share. */
export interface SharedMeasurement<T> {
  /** Measures each figure: the first one measures, the others read the result. */
  readonly figures: (
    read: Readonly<Record<string, (measured: T) => number>>,
  ) => Readonly<Record<string, () => Promise<number>>>
  /** The last measurement. @throws if there is none */
  readonly last: () => T
}

/** Creates a shared measurement. */
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
