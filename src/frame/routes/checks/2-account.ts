/**
 * The checks of the account: whether the company is there, its limits that are used up, the lock, what
 * the account must have; and the count of the call. The ledger is visited once for all of them.
 */
import { PRICES, ledgerOf } from "../../../../domain/charging/aggregates.ts"
import type { CompanyStanding } from "../../../../domain/access/access.ts"
import { isManaged } from "../../../../domain/access/access.ts"
import { API_CALL } from "../../../../domain/charging/calls.ts"
import type { CallChecks, Obstacle } from "../../../../domain/charging/served-calls.ts"
import { obstacleTo } from "../../../../domain/charging/served-calls.ts"
import { priceOf } from "../../../../domain/charging/price-book.ts"
import type { CompanyId } from "../../../../domain/kernel/ids.ts"
import type { Ports } from "../../ports.ts"
import { limitRefusal, lockedRefusal } from "../answers/charge-refusals.ts"
import { badKey } from "./1-caller.ts"
import type { Refusal } from "../answers/refusal.ts"
import { refusal } from "../answers/refusal.ts"
import type { AccountNeed, Caller, Route } from "../declare/route.ts"

/** What of a route, or of all that share its path, the ledger is asked about. */
type Counted = Pick<Route, "counted" | "passesLock"> & {
  /** Whether the call goes on with one that was counted: what that one used up does not stop it. */
  readonly goesOn?: boolean
}

/**
 * Refuses where the company was deleted: what is done before a replay is looked up, and once much may have
 * changed since a call was let in.
 *
 * @param lockStops whether a locked account refuses as well
 * @throws as `Runner.read` does
 */
export async function checkCompany(
  ports: Pick<Ports, "runner">,
  { companyId, spender }: Caller,
  lockStops = false,
): Promise<Refusal | null> {
  const checks = { spender, lockStops, limitsStop: false, ownLimitStops: false }
  const obstacle = await obstacleIn(ports, companyId, checks)
  return obstacle === null ? null : refusalOf(obstacle)
}

/**
 * Lets a call in by its company's ledger and counts it, which weighs in the limits at once and is
 * charged the next night. A call whose own price does not fit is refused like by a used-up limit, and
 * not counted (decisions.md §5). Without a key nothing is counted, and the limits hold all the same.
 *
 * @param lacking the refusal of an account that has not what the route needs; it stands behind the lock
 * @throws as `Runner.gather` does
 */
export async function enter(
  ports: Pick<Ports, "runner">,
  { companyId, spender }: Caller,
  { counted, passesLock = false, goesOn = false }: Counted,
  lacking: Refusal | null,
): Promise<Refusal | null> {
  const lockStops = counted && !passesLock
  const checks = { spender, lockStops, limitsStop: counted && !goesOn, ownLimitStops: !goesOn }
  const isByKey = spender.via === "own_key" || spender.via === "app_key"
  if (lacking !== null || !counted || goesOn || !isByKey) {
    const asked = lacking === null ? checks : { ...checks, limitsStop: false }
    const obstacle = await obstacleIn(ports, companyId, asked)
    return obstacle === null ? lacking : refusalOf(obstacle)
  }
  const { via, keyId, personId } = spender
  const price = await ports.runner.glance(PRICES, (state) => priceOf(state, API_CALL))
  const call = { via, keyId, personId, ...price, checks }
  const obstacle = await ports.runner.gather(ledgerOf(companyId), call)
  return obstacle === null ? null : refusalOf(obstacle)
}

/**
 * What stands against a call; null where nothing does. A glance may count facts that are not stored
 * yet, or lack what another process stored just now: it is enough to let a call pass, and nobody is
 * turned away on it.
 */
async function obstacleIn(
  { runner }: Pick<Ports, "runner">,
  companyId: CompanyId,
  checks: CallChecks,
): Promise<Obstacle | null> {
  const ledger = ledgerOf(companyId)
  const view = (state: Parameters<typeof obstacleTo>[0], at: number) =>
    obstacleTo(state, checks, at)
  const glimpse = await runner.glance(ledger, view)
  return glimpse === null ? null : runner.readLatest(ledger, view)
}

function refusalOf(obstacle: Obstacle): Refusal {
  if (obstacle === "closed") return badKey()
  return obstacle === "locked" ? lockedRefusal() : limitRefusal(obstacle)
}

/** Why an account does not have what is needed; null where it does, or nothing is. */
export function accountRefusal(
  need: AccountNeed | undefined,
  standing: CompanyStanding,
): Refusal | null {
  switch (need) {
    case undefined:
      return null
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
