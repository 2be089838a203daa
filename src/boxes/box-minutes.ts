/**
 * The minutes of a box. Each minute that begins is charged once, as `<boxId>:<n>`, after the spending limits
 * and the key are checked; a refused minute ends the box.
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

/** A box whose minutes are to be charged. */
export interface BilledBox {
  readonly companyId: CompanyId
  readonly boxId: BoxId
  /** What the box host reported just now. */
  readonly activity: { readonly activities: number; readonly isBusy: boolean }
}

/** The stop reason for each refusal of a minute by the ledger (docs/decisions/boxes.md). */
const STOP_REASON_BY_REFUSAL: Readonly<Record<ChargeRefusalCode, BoxStopReason>> = {
  spend_limit_reached: "spending_limit",
  payment_required: "funds",
  account_locked: "funds",
  amount_too_large: "funds",
  too_many_open_charges: "funds",
  ledger_closed: "key_changed",
}

/** Begins and charges every due minute; returns the box afterwards, or null if there is no such box. */
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
 * Two processes may charge a minute concurrently, with room for only one: the stored refusal wins. After it,
 * both check for the other's record, so one of them finds the charge and refunds it.
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
    // Another job settles the first minute's pending charge.
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

/** Whether the key that started a box, and its person, may still do so. */
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
