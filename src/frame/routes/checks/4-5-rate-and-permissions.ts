/** The checks of the rate limit, the key's operations, and the person's role and permissions. */
import type { ApiKey } from "../../../../domain/access/access.ts"
import type { OperationRequirement } from "../../../../domain/access/permissions.ts"
import { canPerform, OPERATIONS } from "../../../../domain/access/permissions.ts"
import type { Refusal } from "../answers/refusal.ts"
import { refusal } from "../answers/refusal.ts"
import type { Caller, Route } from "../declare/route.ts"
import type { RateLimits } from "./rate-limits.ts"
import { callerScope } from "./1-caller.ts"

/** Rejects a key that lacks one of the route's operations. */
export function operationRefusal(
  { key }: { readonly key: Pick<ApiKey, "operations"> | null },
  { operation, additionalOperations = [] }: Pick<Route, "operation" | "additionalOperations">,
): Refusal | null {
  // Without a key, the person's permissions decide.
  if (key === null) return null
  const needed = operation === null ? additionalOperations : [operation, ...additionalOperations]
  const lacking = needed.find((one) => !key.operations.has(one))
  if (lacking === undefined) return null
  const message = `This key has no permission for ${lacking}. An owner can grant it.`
  return refusal("operation_not_granted", message, { operation: lacking })
}

/** The properties of a route that say who may call it. */
type PersonRequirements = Pick<
  Route,
  "operation" | "isPersonKeyOnly" | "roles" | "roleRefusalCode" | "permissions"
>

/**
 * Rejects the app key where a person's own is needed, and a person without the role or permissions. An app key
 * without a sign-in acts for the company: it needs no permissions and has no role.
 */
export function personRefusal(
  { key, person }: Pick<Caller, "key" | "person">,
  route: PersonRequirements,
) {
  const { operation, isPersonKeyOnly = false, roles, roleRefusalCode = "not_allowed" } = route
  if (isPersonKeyOnly && key !== null && key.personId === null) {
    return refusal("not_allowed", "Use a person's own key: the app key cannot do this.")
  }
  if (roles !== undefined && (person === null || !roles.includes(person.role))) {
    return refusal(roleRefusalCode, `Only an ${roles.join(" or ")} of the company may do this.`)
  }
  // A person who was removed has no permissions.
  const whose = key === null ? "You do not" : "The key's person does not"
  if (person === null)
    return key === null || key.personId !== null ? missingPermissionRefusal(null, whose) : null
  if (operation !== null && !canPerform(person, operation)) {
    return missingPermissionRefusal(OPERATIONS[operation], whose)
  }
  // The operation's own permission was checked above; a route may list it again.
  const own = operation === null ? null : OPERATIONS[operation]
  const others = (route.permissions ?? []).filter((permission) => permission !== own)
  const lacking = others.find((one) => !person.permissions.includes(one))
  return lacking === undefined ? null : missingPermissionRefusal(lacking, whose)
}

function missingPermissionRefusal(needs: OperationRequirement | null, whose: string): Refusal {
  if (needs === "owner") return refusal("not_allowed", "Only an owner of the company may do this.")
  const permission =
    needs === null || needs === "any person" ? "permission for this" : `the permission "${needs}"`
  return refusal("not_allowed", `${whose} have ${permission}. Ask an owner or admin.`)
}

/** Counts a call towards its route's rate limit; the refusal if the limit is exceeded. */
export function rateRefusal(
  rates: RateLimits,
  { rateLimit }: Pick<Route, "rateLimit">,
  caller: Caller,
): Refusal | null {
  if (rateLimit === undefined) return null
  return rates.refuse(rateLimit, rateLimit.per === "key" ? callerScope(caller) : caller.companyId)
}
