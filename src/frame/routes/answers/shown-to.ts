/** Refusals as those see them who asked by a page or in another protocol than the API's. */
import type { Answer } from "./answer.ts"
import { answerFor } from "./answer.ts"
import { BODY_LIMIT_BYTES } from "../declare/route.ts"
import type { OpenBody } from "../body.ts"
import type { Call } from "../call.ts"
import { BodyCutOff, BodyTooLarge, BodyTooLate } from "../call.ts"
import { formed } from "../declare/error-form.ts"
import { isBrowser } from "../declare/form-body.ts"
import { PAGE_HEADERS, escaped, htmlPage } from "./page.ts"
import { clientOf, isOneOf } from "../declare/one-of.ts"

/**
 * An answer as it is sent to who asked: people in a browser see a refusal of a page as one, other clients
 * as they show it, and those of another protocol in its form.
 */
export async function shownTo(
  call: Pick<Call, "route" | "headers">,
  body: OpenBody,
  answer: Answer,
): Promise<Answer> {
  const { route } = call
  const client = clientOf(route)
  if (client !== undefined) return answerFor(client, answer)
  if (isOneOf(route) || answer.error === null) return answer
  const { errorForm, refusalTitle: title } = route
  if (errorForm !== undefined) return formed(errorForm, answer, await sentIn(body))
  if (title === undefined || !isBrowser(call)) return answer
  const { message } = JSON.parse(String(answer.body)) as { readonly message: string }
  const page = htmlPage(title, `<p>${escaped(message)}</p>`)
  return { ...answer, headers: { ...answer.headers, ...PAGE_HEADERS }, body: page }
}

/**
 * What stands in the body of a call that was refused; undefined where it cannot be read. What was refused
 * before that is read now, as much of it as anybody may send who needs no key.
 */
async function sentIn(body: OpenBody): Promise<unknown> {
  try {
    return (await body(BODY_LIMIT_BYTES)).value
  } catch (error) {
    if ([BodyTooLarge, BodyCutOff, BodyTooLate].some((kind) => error instanceof kind)) {
      return undefined
    }
    throw error
  }
}
