/** Refusals as people see them who asked for a page. */
import type { Answer } from "./answer.ts"
import { answerFor } from "./answer.ts"
import type { Call } from "./call.ts"
import { isBrowser } from "./form-body.ts"
import { PAGE_HEADERS, escaped, htmlPage } from "./page.ts"
import { clientOf, isOneOf } from "./one-of.ts"

/** An answer as it is sent to who asked: people in a browser see a refusal of a page as one, other clients as they show it. */
export function shownTo(call: Pick<Call, "route" | "headers">, answer: Answer): Answer {
  const { route } = call
  const client = clientOf(route)
  if (client !== undefined) return answerFor(client, answer)
  const title = isOneOf(route) ? undefined : route.refusalTitle
  if (title === undefined || answer.error === null || !isBrowser(call)) return answer
  const { message } = JSON.parse(String(answer.body)) as { readonly message: string }
  const body = htmlPage(title, `<p>${escaped(message)}</p>`)
  return { ...answer, headers: { ...answer.headers, ...PAGE_HEADERS }, body }
}
