import { useState } from "react"
import type { Input } from "../api/operations.ts"
import { download } from "../api/operations.ts"
import { useMe } from "../api/session.ts"

/** Saves the files of operations, and says while one comes and why one does not. */
export function useDownload() {
  const { companyId } = useMe()
  const [isBusy, setBusy] = useState(false)
  const [error, setError] = useState<Error | null>(null)
  const save = (operation: string, input: Input, fileName: string): void => {
    setBusy(true)
    setError(null)
    download(companyId, operation, input, fileName)
      .catch((thrown: unknown) =>
        setError(thrown instanceof Error ? thrown : new Error(String(thrown))),
      )
      .finally(() => setBusy(false))
  }
  return { isBusy, error, save }
}
