/** What every answer of the API must be, whatever a test asks it for. */
import { expect } from "vitest"
import { STATUS_OF } from "../../src/pipeline/refusal.ts"
import { ROUTES } from "../../src/routes.ts"

/** An answer, as far as the contract looks at it. */
export interface Answered {
  readonly status: number
  readonly headers: Readonly<Record<string, unknown>>
  readonly body: unknown
}

/** What an error body never shows: frames of a stack, files of this program or of its packages. */
const INSIDE = /\bat \S+ \(|node_modules|\.[mc]?[jt]s:\d|postgres|kysely|fastify/i

/**
 * Holds an answer against its contract: a name for the request; where it is an error, its code with
 * the status of that code, a sentence, and nothing of the inside; where it is none, exactly the
 * fields that the route promises.
 */
export function expectContract(method: string, url: string, answer: Answered): void {
  const call = `${method} ${url} ${answer.status}`
  expect(answer.headers["x-request-id"], call).toMatch(/^req_[0-9A-Za-z]{22}$/)
  if (answer.status >= 400) return expectError(call, answer)
  const path = url.split("?", 1)[0]
  const route = ROUTES.find((one) => one.method === method && one.url === path)
  if (route === undefined) return
  const parsed = route.reply.safeParse(answer.body)
  expect(parsed.error?.issues ?? [], call).toEqual([])
  // What the schema does not name, it leaves out: so nothing else may have been there.
  expect(parsed.data, call).toEqual(answer.body)
}

function expectError(call: string, { status, body }: Answered): void {
  const { error, message } = body as { readonly error: keyof typeof STATUS_OF; message: string }
  expect(STATUS_OF[error], `${call} ${error}`).toBe(status)
  expect(message, call).toMatch(/^[A-Z].*\.$/s)
  expect(JSON.stringify(body), call).not.toMatch(INSIDE)
}
