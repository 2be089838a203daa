/** What the server says where it does not do what it was asked. */
export class RequestError extends Error {
  override readonly name = "RequestError"
  /** The HTTP status; 0 where no answer came. */
  readonly status: number
  /** To compare: `not_allowed`, `spend_limit_reached`. */
  readonly code: string
  /** Names the request, for whoever looks into it. */
  readonly requestId: string | null
  /** Seconds to wait before the same again; null where that is not said. */
  readonly retryAfter: number | null
  /** A sentence for each field that is not as it must be. */
  readonly fields: Readonly<Record<string, string>>
  /** All of the answer: the limit of a spending refusal stands there. */
  readonly body: Readonly<Record<string, unknown>>

  constructor(status: number, body: Readonly<Record<string, unknown>>, headers: Headers | null) {
    super(typeof body["message"] === "string" ? body["message"] : "The server gave no answer.")
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
  return Object.fromEntries(Object.entries(found).map(([name, says]) => [name, String(says)]))
}

/** What an answer says that is no success. */
export async function requestErrorFromResponse(response: Response): Promise<RequestError> {
  const text = await response.text()
  return new RequestError(response.status, readBody(text), response.headers)
}

function readBody(text: string): Record<string, unknown> {
  try {
    const body: unknown = JSON.parse(text)
    return typeof body === "object" && body !== null ? { ...body } : {}
  } catch (error) {
    // Something on the way answered, and not the server: its page is of no use to anybody.
    if (!(error instanceof SyntaxError)) throw error
    return {}
  }
}

/** No answer came at all: the server is not there, or the line is cut. */
export function noResponseError(): RequestError {
  const message = "The server cannot be reached. Nothing is known of what was asked."
  return new RequestError(0, { error: "no_answer", message }, null)
}
