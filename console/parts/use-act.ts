import { useState } from "react"

/** Something that is done once at a time. */
export interface Act<Given extends readonly unknown[]> {
  readonly act: (...given: Given) => Promise<void>
  readonly isBusy: boolean
  /** Why it could not be done the last time; null where it could. */
  readonly error: Error | null
}

/** Does something once at a time, and keeps what went wrong. */
export function useAct<Given extends readonly unknown[]>(
  does: (...given: Given) => Promise<void>,
): Act<Given> {
  const [isBusy, setBusy] = useState(false)
  const [error, setError] = useState<Error | null>(null)
  const act = async (...given: Given) => {
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
  return { act, isBusy, error }
}
