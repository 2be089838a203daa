/**
 * The checks of the account (company deleted, limits used up, lock, requirements) and the count of the call, all
 * with one read of the ledger.
 */
import { PRICES_STREAM, ledgerStreamOf } from "../../../../domain/charging/aggregates.ts"
import type { CompanyProfile } from "../../../../domain/access/access.ts"
import { isOnManagedPlan } from "../../../../domain/access/access.ts"
import { API_CALL_ITEM } from "../../../../domain/charging/api-calls.ts"
import type { ApiCallChecks, ApiCallBlocker } from "../../../../domain/charging/served-calls.ts"
import { findApiCallBlocker } from "../../../../domain/charging/served-calls.ts"
import { priceOfItem } from "../../../../domain/charging/price-book.ts"
import type { CompanyId } from "../../../../domain/kernel/ids.ts"
import type { Ports } from "../../ports.ts"
import { limitRefusal, lockedRefusal } from "../answers/charge-refusals.ts"
import { invalidKeyRefusal } from "./1-caller.ts"
import type { Refusal } from "../answers/refusal.ts"
import { refusal } from "../answers/refusal.ts"
import type { AccountRequirement, Caller, Route } from "../declare/route.ts"

/** The properties of a route, or of all variants on its path, that the account checks need. */
type CountedRoute = Pick<Route, "isCounted" | "isAllowedWhenLocked"> & {
  /** Whether the call continues a counted one, whose usage must not stop it. */
  readonly isContinuation?: boolean
}

/**
 * Rejects calls of a deleted company; used before a replay, and later in long calls.
 *
 * @param lockStops whether a locked account is rejected as well
 * @throws as `Runner.read` does
 */
export async function deletedCompanyRefusal(
  ports: Pick<Ports, "runner">,
  { companyId, spender }: Caller,
  lockStops = false,
): Promise<Refusal | null> {
  const checks = { spender, checksLock: lockStops, checksLimits: false, checksKeyLimit: false }
  const obstacle = await obstacleIn(ports, companyId, checks)
  return obstacle === null ? null : obstacleRefusal(obstacle)
}

/**
 * Admits a call by its company's ledger and counts it: it weighs on the limits immediately and is charged the
 * next night. A call whose own price does not fit is rejected and not counted (docs/decisions/charging.md). Without
 * a key
 * nothing is counted, but the limits apply.
 *
 * @param lacking the refusal of an account that lacks what the route needs; the lock comes first
 * @throws as `Runner.buffer` does
 */
export async function admitAndCount(
  ports: Pick<Ports, "runner">,
  { companyId, spender }: Caller,
  { isCounted, isAllowedWhenLocked = false, isContinuation = false }: CountedRoute,
  lacking: Refusal | null,
): Promise<Refusal | null> {
  const lockStops = isCounted && !isAllowedWhenLocked
  const checks = {
    spender,
    checksLock: lockStops,
    checksLimits: isCounted && !isContinuation,
    checksKeyLimit: !isContinuation,
  }
  const isByKey = spender.via === "own_key" || spender.via === "app_key"
  if (lacking !== null || !isCounted || isContinuation || !isByKey) {
    const asked = lacking === null ? checks : { ...checks, checksLimits: false }
    const obstacle = await obstacleIn(ports, companyId, asked)
    return obstacle === null ? lacking : obstacleRefusal(obstacle)
  }
  const { via, keyId, personId } = spender
  const price = await ports.runner.readCached(PRICES_STREAM, (state) =>
    priceOfItem(state, API_CALL_ITEM),
  )
  const call = { via, keyId, personId, ...price, checks }
  const obstacle = await ports.runner.buffer(ledgerStreamOf(companyId), call)
  return obstacle === null ? null : obstacleRefusal(obstacle)
}

/**
 * Returns what blocks a call; null if nothing. The cached state may lack facts or include unstored ones, so it
 * can admit a call but not reject one.
 */
async function obstacleIn(
  { runner }: Pick<Ports, "runner">,
  companyId: CompanyId,
  checks: ApiCallChecks,
): Promise<ApiCallBlocker | null> {
  const ledger = ledgerStreamOf(companyId)
  const view = (state: Parameters<typeof findApiCallBlocker>[0], at: number) =>
    findApiCallBlocker(state, checks, at)
  const glimpse = await runner.readCached(ledger, view)
  return glimpse === null ? null : runner.readLatest(ledger, view)
}

function obstacleRefusal(obstacle: ApiCallBlocker): Refusal {
  if (obstacle === "closed") return invalidKeyRefusal()
  return obstacle === "locked" ? lockedRefusal() : limitRefusal(obstacle)
}

/** Returns why an account lacks what is needed; null if it does not. */
export function accountRefusal(
  need: AccountRequirement | undefined,
  profile: CompanyProfile,
): Refusal | null {
  switch (need) {
    case undefined:
      return null
    case "managed": {
      if (isOnManagedPlan(profile)) return null
      const message =
        "This needs a card on file whose payments succeed. An owner can add or replace the card."
      return refusal("needs_managed_plan", message)
    }
    case "card": {
      if (profile.card !== null) return null
      return refusal("card_required", "This needs a card on file; an owner can add one.")
    }
    case "verified card": {
      if (profile.card?.verified === true) return null
      const message = "This needs a verified card on file; an owner can verify one."
      return refusal("card_required", message)
    }
  }
}
