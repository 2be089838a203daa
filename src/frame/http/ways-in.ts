/** Calls that come by another way than with a key. */
import type { Call } from "../routes/call.ts"
import { isOneOf, routesIn } from "../routes/declare/one-of.ts"
import type { OneOf } from "../routes/declare/one-of.ts"
import type { Route } from "../routes/declare/route.ts"
import type { WayIn } from "../routes/declare/way-in.ts"
import type { Ports } from "../ports.ts"

/** What a way leads to: the API's own routes. One that anybody may ask needs no other way. */
export function reachedBy(entries: readonly (Route | OneOf)[]): readonly (Route | OneOf)[] {
  const isOpen = (entry: Route | OneOf) => !isOneOf(entry) && entry.auth === false
  const isOfApi = ({ client, errorForm, url }: Route) =>
    client === undefined && errorForm === undefined && url.startsWith("/api/")
  return entries.filter((entry) => !isOpen(entry) && routesIn([entry]).every(isOfApi))
}

/** A call that came by a way, as its route sees it: without what the way's own path says. */
export function enteringBy({ at, who }: WayIn, ports: Ports, call: Call): Call {
  const own = new Set(at.split("/").flatMap((part) => (part.startsWith(":") ? part.slice(1) : [])))
  const others = Object.entries(call.params).filter(([name]) => !own.has(name))
  const entering = { ...call, method: call.route.method }
  return { ...call, params: Object.fromEntries(others), who: () => who(ports, entering) }
}
