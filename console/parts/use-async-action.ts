import { useState } from "react"

/** Something that is done once at a time. */
export interface AsyncAction<Given extends readonly unknown[]> {
  readonly run: (...given: Given) => Promise<void>
  readonly isBusy: boolean
  /** Why it could not be done the last time; null where it could. */
  readonly error: Error | null
}

/** Does something once at a time, and keeps what went wrong. */
export function useAsyncAction<Given extends readonly unknown[]>(
  does: (...given: Given) => Promise<void>,
): AsyncAction<Given> {
  const [isBusy, setBusy] = useState(false)
  const [error, setError] = useState<Error | null>(null)
  const run = async (...given: Given) => {
    setBusy(true)
    setError(null)
    try {
      await does(...given)
    } catch (thrown) {
      if (!(thrown instanceof Error)) throw thrown
      setError(thrown)
    } finally {
      setBusy(false)
    }
  }
  return { run, isBusy, error }
}
