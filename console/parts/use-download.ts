import type { OperationInput } from "../api/operations.ts"
import { downloadFile } from "../api/operations.ts"
import { useMe } from "../api/session.ts"
import { useAsyncAction } from "./use-async-action.ts"

/** Downloads files of operations, with the state and the error of the download. */
export function useDownload() {
  const { companyId } = useMe()
  const { run, isBusy, error } = useAsyncAction(
    (operation: string, input: OperationInput, fileName: string) =>
      downloadFile(companyId, operation, input, fileName),
  )
  const save = (...file: Parameters<typeof run>): void => void run(...file)
  return { isBusy, error, save }
}
