import { CONSOLE_HEADERS } from "./console-request.ts"
import { queryClient } from "./query-client.ts"
import { RequestError, noResponseError } from "./request-error.ts"

/** Maximum size of an upload, bytes. */
export const MAX_UPLOAD_BYTES = 536_870_912

interface FileUpload {
  readonly companyId: string
  readonly operation: string
  readonly file: File
  readonly input: Readonly<Record<string, string>>
  /** Called with the sent share, 0 to 1. */
  readonly onSent: (share: number) => void
}

/** Uploads a file to an operation, and reports progress. @throws RequestError */
export async function uploadFile<T>(sending: FileUpload): Promise<T> {
  const answer = await sendRequest(sending)
  await queryClient.invalidateQueries({ queryKey: [sending.companyId] })
  return answer as T
}

/** Only `XMLHttpRequest` reports the progress of a body. */
function sendRequest({ companyId, operation, file, input, onSent }: FileUpload): Promise<unknown> {
  const { promise, resolve, reject } = Promise.withResolvers<unknown>()
  const request = new XMLHttpRequest()
  const query = new URLSearchParams(input).toString()
  request.open("POST", `/console/${companyId}/files/${operation}?${query}`)
  for (const [name, value] of Object.entries(CONSOLE_HEADERS)) request.setRequestHeader(name, value)
  request.setRequestHeader("content-type", "application/octet-stream")
  request.responseType = "json"
  request.upload.addEventListener("progress", ({ loaded, total }) => {
    if (total > 0) onSent(loaded / total)
  })
  request.addEventListener("error", () => reject(noResponseError()))
  request.addEventListener("load", () => {
    const body: unknown = request.response
    if (request.status >= 200 && request.status < 300) resolve(body)
    else reject(uploadError(request, body))
  })
  request.send(file)
  return promise
}

function uploadError(request: XMLHttpRequest, body: unknown): RequestError {
  const names = ["x-request-id", "retry-after"] as const
  const headers = names.flatMap((name) => {
    const value = request.getResponseHeader(name)
    return value === null ? [] : [[name, value] as [string, string]]
  })
  const fields = typeof body === "object" && body !== null ? { ...body } : {}
  return new RequestError(request.status, fields, new Headers(headers))
}
