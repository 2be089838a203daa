import { useState } from "react"

/** An action that runs once at a time. */
export interface AsyncAction<Given extends readonly unknown[]> {
  readonly run: (...given: Given) => Promise<void>
  readonly isBusy: boolean
  /** Error of the last run; null if it succeeded. */
  readonly error: Error | null
}

/** Runs an action once at a time, and keeps its error. */
export function useAsyncAction<Given extends readonly unknown[]>(
  action: (...given: Given) => Promise<void>,
): AsyncAction<Given> {
  const [isBusy, setBusy] = useState(false)
  const [error, setError] = useState<Error | null>(null)
  const run = async (...given: Given) => {
    setBusy(true)
    setError(null)
    try {
      await action(...given)
    } catch (thrown) {
      if (!(thrown instanceof Error)) throw thrown
      setError(thrown)
    } finally {
      setBusy(false)
    }
  }
  return { run, isBusy, error }
}
