import { CONSOLE_HEADERS } from "./call.ts"
import { asked } from "./queries.ts"
import { Refused, noAnswer } from "./refused.ts"

/** So long a file may be that is sent, bytes. */
export const MOST_FILE_BYTES = 536_870_912

interface Sending {
  readonly companyId: string
  /** The operation that takes it, as paths have it. */
  readonly operation: string
  readonly file: File
  /** Its other fields. */
  readonly input: Readonly<Record<string, string>>
  /** Hears which share is sent, 0 to 1. */
  readonly onSent: (share: number) => void
}

/** Sends a file to an operation that takes one, and says how much of it is sent. @throws Refused */
export async function sendFile<T>(sending: Sending): Promise<T> {
  const answer = await sent(sending)
  await asked.invalidateQueries({ queryKey: [sending.companyId] })
  return answer as T
}

/** Only this older way of asking says how far a body has come. */
function sent({ companyId, operation, file, input, onSent }: Sending): Promise<unknown> {
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
  request.addEventListener("error", () => reject(noAnswer()))
  request.addEventListener("load", () => {
    const body: unknown = request.response
    if (request.status >= 200 && request.status < 300) resolve(body)
    else reject(refusedBy(request, body))
  })
  request.send(file)
  return promise
}

function refusedBy(request: XMLHttpRequest, body: unknown): Refused {
  const names = ["x-request-id", "retry-after"] as const
  const headers = names.flatMap((name) => {
    const value = request.getResponseHeader(name)
    return value === null ? [] : [[name, value] as [string, string]]
  })
  const said = typeof body === "object" && body !== null ? { ...body } : {}
  return new Refused(request.status, said, new Headers(headers))
}
