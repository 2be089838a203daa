/**
 * Examples of refusals that are another for each route: made by what refuses, or with the route's own
 * words, so that nobody reads of texts where none is sent.
 */
import type { Key } from "../../../../domain/access/access.ts"
import { limitRefusal, lockedRefusal } from "../../routes/answers/charge-refusals.ts"
import { EXAMPLE_ID, USED_UP, exampleOf } from "./examples.ts"
import { faultRefusal, overloadedRefusal } from "../../routes/answers/faults.ts"
import { paidBy } from "../../routes/call.ts"
import { operationRefusal, personRefusal } from "../../routes/checks/4-5-rate-and-permissions.ts"
import { noPosition } from "../../routes/checks/6-position.ts"
import { rateLimited } from "../../routes/checks/rate-limits.ts"
import type { Code, ErrorCode, Refusal } from "../../routes/answers/refusal.ts"
import { bodyOf } from "../../routes/answers/refusal.ts"
import type { Route } from "../../routes/declare/route.ts"
import { otherVerb } from "../known-paths.ts"

type Body = Readonly<Record<string, unknown>>

/** The route's own example of a code; null where the shared one fits. */
export function ownExampleOf(route: Route, code: Code, verbs: readonly string[]): Body | null {
  // What a slice alone says is about the slice.
  if (typeof code !== "string") return null
  const message = route.says?.[code]
  if (message !== undefined) return { ...exampleOf(code), message }
  const refused = ownRefusalOf(route, code, verbs)
  return refused === null ? null : bodyOf(refused)
}

function ownRefusalOf(route: Route, code: ErrorCode, verbs: readonly string[]): Refusal | null {
  switch (code) {
    case "validation":
      return route.body === undefined ? noPosition() : null
    case "method_not_allowed":
      return otherVerb(verbs.includes("PUT") ? "PATCH" : "PUT", verbs)
    case "operation_not_granted":
      return operationRefusal({ key: { operations: new Set() } }, route)
    case "not_allowed":
    case "role":
      return code === (route.roleRefusal ?? "not_allowed") ? roleRefusal(route) : null
    case "rate_limited":
      return route.limit === undefined ? null : rateLimited(route.limit)
    case "payment_required":
      return route.charged === true ? null : lockedRefusal()
    case "spend_limit_reached":
      return route.charged === true ? null : limitRefusal(USED_UP)
    case "overloaded":
      return overloadedRefusal(askedOf(route))
    case "stream_damaged":
      return faultRefusal(named("DamagedStream"), askedOf(route), SILENT)
    case "unavailable":
      return unavailable(route)
    default:
      return null
  }
}

/** What somebody without the role is told, or the shared key where a person's own is needed. */
function roleRefusal(route: Route): Refusal | null {
  const isPersonal = route.personKey === true || route.roles !== undefined
  if (!isPersonal) return null
  const key = { personId: route.personKey === true ? null : EXAMPLE_ID.person }
  return personRefusal({ key: key as Key, person: null }, route)
}

function askedOf(route: Route) {
  const pays = paidBy(route)
  return { requestId: EXAMPLE_ID.request, pays, isNamed: pays !== null, mayBeDone: false }
}

/** Of a charge or a purchase the answer that a caller must understand; else the plain one. */
function unavailable(route: Route): Refusal {
  const asked = askedOf(route)
  const idName = asked.pays === "purchase" ? "purchaseId" : "chargeId"
  const id = asked.pays === "purchase" ? EXAMPLE_ID.purchase : EXAMPLE_ID.charge
  if (asked.pays === null) return faultRefusal(named("Unavailable"), asked, SILENT)
  return faultRefusal(Object.assign(named("OutcomeUnknown"), { [idName]: id }), asked, SILENT)
}

const SILENT = { info: () => undefined, warn: () => undefined }

function named(name: string): Error {
  return Object.assign(new Error(), { name })
}
