/** The server's error answer. */
export class RequestError extends Error {
  override readonly name = "RequestError"
  /** HTTP status; 0 if there was no answer. */
  readonly status: number
  /** Error code: `not_allowed`, `spend_limit_reached`. */
  readonly code: string
  readonly requestId: string | null
  /** Seconds until a retry is allowed; null if not specified. */
  readonly retryAfter: number | null
  /** Message for each invalid field. */
  readonly fields: Readonly<Record<string, string>>
  /** The whole answer; a spending refusal has its limit here. */
  readonly body: Readonly<Record<string, unknown>>

  constructor(status: number, body: Readonly<Record<string, unknown>>, headers: Headers | null) {
    super(typeof body["message"] === "string" ? body["message"] : "The server sent no message.")
    this.status = status
    this.code = typeof body["error"] === "string" ? body["error"] : "no_answer"
    this.requestId = headers?.get("x-request-id") ?? null
    const wait = Number(headers?.get("retry-after") ?? Number.NaN)
    this.retryAfter = Number.isFinite(wait) ? wait : null
    this.fields = fieldsIn(body["fields"])
    this.body = body
  }
}

function fieldsIn(found: unknown): Readonly<Record<string, string>> {
  if (typeof found !== "object" || found === null) return {}
  return Object.fromEntries(Object.entries(found).map(([name, message]) => [name, String(message)]))
}

/** Reads the error from an answer. */
export async function requestErrorFromResponse(response: Response): Promise<RequestError> {
  const text = await response.text()
  return new RequestError(response.status, readBody(text), response.headers)
}

function readBody(text: string): Record<string, unknown> {
  try {
    const body: unknown = JSON.parse(text)
    return typeof body === "object" && body !== null ? { ...body } : {}
  } catch (error) {
    // A proxy answered in place of the server; its page does not help.
    if (!(error instanceof SyntaxError)) throw error
    return {}
  }
}

/** The error if there is no answer: the server is down, or the connection is lost. */
export function noResponseError(): RequestError {
  const message = "The server cannot be reached. It is unknown whether the request was executed."
  return new RequestError(0, { error: "no_answer", message }, null)
}
