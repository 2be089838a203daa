/**
 * The minutes of a box: each that has begun is charged once, `<boxId>:<n>`, through all limits and the
 * check of its key; a refused one ends the box.
 */
import { findKey, findPerson, isKeyUsable } from "../../domain/access/access.ts"
import type { AccessState } from "../../domain/access/access.ts"
import { accessStreamOf } from "../../domain/access/aggregates.ts"
import { boxStreamOf } from "../../domain/boxes/aggregates.ts"
import type { BoxStopReason } from "../../domain/boxes/box-events.ts"
import type { BoxView } from "../../domain/boxes/box.ts"
import { viewOfBox } from "../../domain/boxes/box.ts"
import type { BoxId } from "../../domain/boxes/ids.ts"
import type { ChargeRefusalCode } from "../../domain/charging/ledger-events.ts"
import type { CompanyId } from "../../domain/kernel/ids.ts"
import { operationRefusal, personRefusal } from "../frame/routes/checks/4-5-rate-and-permissions.ts"
import { refundSettledById } from "../frame/effects/charges.ts"
import type { MeteredMinutes } from "../frame/effects/minutes.ts"
import { minuteChargeId, chargeMinutes } from "../frame/effects/minutes.ts"
import type { Cause } from "../frame/kernel/envelope.ts"
import type { Ports } from "../frame/ports.ts"
import { readBox } from "./find-box.ts"
import { START_RULES } from "./start-rules.ts"

/** A box whose minutes are looked at. */
export interface BilledBox {
  readonly companyId: CompanyId
  readonly boxId: BoxId
  /** What was seen of it just now. */
  readonly activity: { readonly activities: number; readonly isBusy: boolean }
}

/** What the ledger's refusal of a minute stops a box with (decisions.md §8). */
const STOP_REASON_BY_REFUSAL: Readonly<Record<ChargeRefusalCode, BoxStopReason>> = {
  spend_limit_reached: "spending_limit",
  payment_required: "funds",
  account_locked: "funds",
  amount_too_large: "funds",
  too_many_open_charges: "funds",
  ledger_closed: "key_changed",
}

/** Begins and charges every minute that is due; the box as it then stands, null where there is none. */
export async function chargeDueMinutes(
  ports: Pick<Ports, "clock" | "storeRefusal" | "projector" | "readAll" | "runner" | "store">,
  box: BilledBox,
  cause: Cause,
): Promise<BoxView | null> {
  const { companyId, boxId } = box
  const view = await chargeMinutes(ports, minutesOfBox(ports, box, cause), cause)
  if (view?.isLastRefused === true) {
    const name = minuteChargeId(boxId, view.minutes)
    await refundSettledById(ports, companyId, name, "the box had stopped", cause)
  }
  return view
}

/**
 * Two processes may charge a minute at the same time, and there may be room for one and not for the
 * other: a refusal that is stored stands. The process that was refused looks for a charge after that,
 * and the one that charged looks for a refusal, so one of them finds the other's and refunds the charge.
 */
function minutesOfBox(
  ports: Pick<Ports, "runner">,
  { companyId, boxId, activity }: BilledBox,
  cause: Cause,
): MeteredMinutes<BoxView> {
  const { runner } = ports
  const stream = boxStreamOf(companyId, boxId)
  const read = () => readBox(ports, companyId, boxId)
  return {
    companyId,
    resource: boxId,
    read,
    // The first is an open charge, which another job ends.
    schedule: ({ minutes, isLastRefused, next }) => ({
      owed: minutes === 1 || isLastRefused ? null : minutes,
      next,
    }),
    beginMinute: async (view, minute) => {
      const isKeyGood = await canContinue(ports, companyId, view)
      const command = {
        type: "TickBox" as const,
        boxId,
        minute,
        observed: activity,
        isKeyUsable: isKeyGood,
      }
      const ticked = await runner.execute(stream, command, cause, viewOfBox)
      const facts = ticked.accepted ? ticked.facts : []
      return { view: ticked.view, hasBegun: facts.some(({ type }) => type === "BoxMinuteStarted") }
    },
    chargeOf: ({ started: { size, keyId, personId, unitPriceMicros, priceVersion } }) => ({
      via: "own_key",
      keyId,
      personId,
      item: `box_minute_${size}`,
      unitPriceMicros,
      priceVersion,
    }),
    recordCharge: async (minute, refused) => {
      if (refused === null) return read()
      const reason = STOP_REASON_BY_REFUSAL[refused.code]
      const command = { type: "RefuseMinute" as const, boxId, minute, reason }
      return (await runner.execute(stream, command, cause, viewOfBox)).view
    },
  }
}

/** Whether the key that started a box may still do so, and its person too. */
async function canContinue(
  { runner }: Pick<Ports, "runner">,
  companyId: CompanyId,
  { started: { keyId, personId } }: BoxView,
): Promise<boolean> {
  return runner.readLatest(accessStreamOf(companyId), (state: AccessState) => {
    const key = findKey(state, keyId)
    if (key === null || !isKeyUsable(key)) return false
    const holder = { key, person: findPerson(state, personId) }
    const refused = operationRefusal(holder, START_RULES) ?? personRefusal(holder, START_RULES)
    return refused === null
  })
}
