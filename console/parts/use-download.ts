import type { Input } from "../api/operations.ts"
import { download } from "../api/operations.ts"
import { useMe } from "../api/session.ts"
import { useAct } from "./use-act.ts"

/** Saves the files of operations, and says while one comes and why one does not. */
export function useDownload() {
  const { companyId } = useMe()
  const { act, isBusy, error } = useAct((operation: string, input: Input, fileName: string) =>
    download(companyId, operation, input, fileName),
  )
  const save = (...file: Parameters<typeof act>): void => void act(...file)
  return { isBusy, error, save }
}
