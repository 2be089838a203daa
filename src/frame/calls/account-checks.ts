/** The checks of the account: what it must have, its limits that are used up, the count of calls. */
import { PRICES, ledgerOf } from "../../../domain/charging/aggregates.ts"
import type { CompanyStanding } from "../../../domain/access/access.ts"
import { isManaged } from "../../../domain/access/access.ts"
import { API_CALL } from "../../../domain/charging/calls.ts"
import type { Ledger } from "../../../domain/charging/ledger-state.ts"
import { accountOf, usedUpLimit } from "../../../domain/charging/ledger-views.ts"
import type { LimitReading } from "../../../domain/charging/limits.ts"
import { priceOf } from "../../../domain/charging/price-book.ts"
import type { Ports } from "../ports.ts"
import type { Call } from "./call.ts"
import { limitRefusal, lockedRefusal } from "./charge-refusals.ts"
import type { Refusal } from "./refusal.ts"
import { refusal } from "./refusal.ts"
import type { AccountNeed, Caller } from "./route.ts"
import { standingAgainst } from "./standing-against.ts"

/** Refuses a locked account, and one that has not what the route needs. @throws as `Runner.look` does */
export async function checkAccount(ports: Ports, call: Call): Promise<Refusal | null> {
  const { route } = call
  const { companyId } = call.caller as Caller
  if (route.counted && route.passesLock !== true) {
    const lock = (state: Ledger) => (accountOf(state).locked ? true : null)
    if ((await standingAgainst(ports, companyId, lock)) !== null) return lockedRefusal()
  }
  if (route.account === undefined) return null
  return accountRefusal(route.account, call.standing as CompanyStanding)
}

/** Why an account does not have what is needed; null where it does. */
export function accountRefusal(need: AccountNeed, standing: CompanyStanding): Refusal | null {
  switch (need) {
    case "managed": {
      if (isManaged(standing)) return null
      const message = "This needs a card on file and a paid-up account; an owner can add a card."
      return refusal("needs_managed_plan", message)
    }
    case "card": {
      if (standing.card !== null) return null
      return refusal("card_required", "This needs a card on file; an owner can add one.")
    }
    case "verified card": {
      if (standing.card?.verified === true) return null
      const message = "This needs a verified card on file; an owner can verify one."
      return refusal("card_required", message)
    }
  }
}

/** A key whose own limit is used up is a refused key, on every route. @throws as `Runner.look` does */
export async function checkKeyLimit(ports: Ports, call: Call): Promise<Refusal | null> {
  const limit = await usedUp(ports, call)
  return limit?.holder === "key" ? limitRefusal(limit) : null
}

/**
 * A used-up general limit of the person or the company refuses every counted call up front.
 *
 * @throws as `Runner.look` does
 */
export async function checkGeneralLimit(ports: Ports, call: Call): Promise<Refusal | null> {
  if (!call.route.counted) return null
  const limit = await usedUp(ports, call)
  return limit === null ? null : limitRefusal(limit)
}

/**
 * Counts the call, which weighs in the limits at once and is charged the next night. One whose own
 * price does not fit is refused like a used-up limit, and not counted (decisions.md §5).
 *
 * @throws as `Runner.gather` does
 */
export async function countCall(ports: Ports, { caller, route }: Call): Promise<Refusal | null> {
  if (!route.counted) return null
  const { spender, companyId } = caller as Caller
  if (spender.via !== "own_key" && spender.via !== "shared_key") return null
  const { via, keyId, personId } = spender
  const price = await ports.runner.glance(PRICES, (state) => priceOf(state, API_CALL))
  const stream = ledgerOf(companyId)
  const limit = await ports.runner.gather(stream, { via, keyId, personId, ...price })
  return limit === null ? null : limitRefusal(limit)
}

/** The first used-up limit of key, person and company. */
async function usedUp(ports: Ports, { caller }: Call): Promise<LimitReading | null> {
  const { companyId, spender } = caller as Caller
  return standingAgainst(ports, companyId, (state, at) => usedUpLimit(state, spender, at))
}
