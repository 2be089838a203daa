/** What is refused before a route is found: paths that are not there, verbs a path does not have. */
import type { Refusal } from "../routes/answers/refusal.ts"
import { refusal } from "../routes/answers/refusal.ts"
import type { Route } from "../routes/declare/route.ts"

/** Nothing is at this address; what stands behind a question mark is not told again. */
export function unknownPath(url: string): Refusal {
  return refusal("not_found", `There is no ${url.split("?", 1)[0]} here.`)
}

/** The verbs that are answered where a route has this one: whatever is read can be asked for its head. */
export function answeredVerbs(method: Route["method"]): string[] {
  return method === "GET" ? ["GET", "HEAD"] : [method]
}

/** A known path with another verb: 405 with the verbs it has. */
export function otherVerb(verb: string, allowed: readonly string[]): Refusal {
  const message = `${verb} is not possible here; use ${allowed.join(" or ")}.`
  return { ...refusal("method_not_allowed", message), headers: { allow: allowed.join(", ") } }
}

/** The route is no longer there, whatever the verb. */
export function retiredPath(): Refusal {
  const message = "This route is retired; leads come from forms on the company's hosted pages."
  return refusal("gone", message)
}
