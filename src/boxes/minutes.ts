/**
 * The minutes of a box: each that has begun is charged once, `<boxId>:<n>`, through all limits and the
 * check of its key; a refused one ends the box.
 */
import { findKey, findPerson, keyWorks } from "../../domain/access/access.ts"
import type { Access } from "../../domain/access/access.ts"
import { accessOf } from "../../domain/access/aggregates.ts"
import { boxStreamOf } from "../../domain/boxes/aggregates.ts"
import type { StopReason } from "../../domain/boxes/box-events.ts"
import type { BoxView } from "../../domain/boxes/box.ts"
import { boxOf } from "../../domain/boxes/box.ts"
import type { BoxId } from "../../domain/boxes/ids.ts"
import { ledgerOf } from "../../domain/charging/aggregates.ts"
import type { ChargeRefusalCode } from "../../domain/charging/ledger-formats.ts"
import { ledgerRevision } from "../../domain/charging/ledger-views.ts"
import type { ChargeId, CompanyId } from "../../domain/kernel/ids.ts"
import { operationRefusal, personRefusal } from "../frame/routes/checks/5-permissions.ts"
import { chargeByName } from "../frame/effects/charge-by-name.ts"
import { findEnded, refundEnded } from "../frame/effects/charge-ends.ts"
import type { Cause } from "../frame/kernel/envelope.ts"
import type { Ports } from "../frame/ports.ts"
import { readBox } from "./find-box.ts"
import { START_RULES } from "./start-rules.ts"

/** A box whose minutes are looked at. */
export interface Ticked {
  readonly companyId: CompanyId
  readonly boxId: BoxId
  /** What was seen of it just now. */
  readonly signs: { readonly activities: number; readonly isBusy: boolean }
}

/** What the ledger's refusal of a minute stops a box with (decisions.md §8). */
const REASONS: Readonly<Record<ChargeRefusalCode, StopReason>> = {
  spend_limit_reached: "spending_limit",
  payment_required: "funds",
  account_locked: "funds",
  amount_too_large: "funds",
  too_many_open_charges: "funds",
  ledger_closed: "key_changed",
}

/**
 * Begins and charges every minute that is due, one after the other; the box as it then stands, null where
 * there is none. Again after a crash at any line: nothing is charged twice, and nothing is left out.
 */
export async function payDue(ports: Ports, box: Ticked, cause: Cause): Promise<BoxView | null> {
  const { companyId, boxId, signs } = box
  const stream = boxStreamOf(companyId, boxId)
  let view = await readBox(ports, companyId, boxId)
  if (view === null) return null
  // Whoever began the last minute may have died before it was charged.
  view = await payMinute(ports, box, view, null, cause)
  while (view?.next !== undefined && view?.next !== null) {
    if (view.next.dueAt > ports.clock.now()) return view
    const isKeyGood = await mayGoOn(ports, companyId, view)
    // A charge of this minute can only stand behind what is here before it begins.
    const searchedTo = await ports.runner.read(ledgerOf(companyId), ledgerRevision)
    const { minute } = view.next
    const command = { type: "TickBox" as const, boxId, minute, signs, isKeyGood }
    const ticked = await ports.runner.execute(stream, command, cause, boxOf)
    if (!ticked.accepted || ticked.view === null) return ticked.view
    const hasBegun = ticked.facts.some(({ type }) => type === "BoxMinuteStarted")
    view = await payMinute(ports, box, ticked.view, hasBegun ? searchedTo : null, cause)
    if (!hasBegun && ticked.facts.length === 0) return view
  }
  return view
}

/**
 * Charges the last minute that began, where it is not.
 *
 * Two may do so at once, and there may be room for one and not for the other: a refusal that is stored has
 * the last word. Who refused looks for a charge behind that, who charged looks for a refusal behind that,
 * so one of the two finds the other's, and gives the charge back.
 *
 * @param searchedTo up to where it is known not to be charged; null where that must be looked for
 */
async function payMinute(
  ports: Ports,
  box: Ticked,
  given: BoxView,
  searchedTo: number | null,
  cause: Cause,
): Promise<BoxView> {
  const { companyId, boxId } = box
  for (let view = given, knownTo = searchedTo; ; knownTo = null) {
    const { minutes: minute, isLastRefused } = view
    // The first is an open charge, which another row ends.
    if (minute === 1) return view
    if (isLastRefused) {
      await takeMinuteBack(ports, companyId, minuteName(boxId, minute), cause)
      return view
    }
    const name = minuteName(boxId, minute)
    const reason = await chargeMinute(ports, companyId, view, name, knownTo, cause)
    const now =
      reason === null
        ? await readBox(ports, companyId, boxId)
        : await refuseMinute(ports, box, minute, reason, cause)
    if (now === null) return view
    // Else another one was refused, or began behind this one, meanwhile.
    if (reason === null && now.minutes === minute && !now.isLastRefused) return now
    view = now
  }
}

/** What the charge of a minute is called (decisions.md §8). */
export const minuteName = (boxId: BoxId, minute: number): ChargeId => `${boxId}:${minute}`

/** Records that a minute was refused, unless it was charged meanwhile and the next one began. */
async function refuseMinute(
  { runner }: Ports,
  { companyId, boxId }: Ticked,
  minute: number,
  reason: StopReason,
  cause: Cause,
): Promise<BoxView | null> {
  const command = { type: "RefuseMinute" as const, boxId, minute, reason }
  return (await runner.execute(boxStreamOf(companyId, boxId), command, cause, boxOf)).view
}

/** Refunds the charge of a refused minute, where another process had made one. */
async function takeMinuteBack(
  ports: Ports,
  companyId: CompanyId,
  chargeId: ChargeId,
  cause: Cause,
): Promise<void> {
  const found = await findEnded(ports, companyId, chargeId)
  await refundEnded(ports, companyId, found, "the box had stopped", cause)
}

/** Charges a minute; null where it is charged, else what the box stops with. */
async function chargeMinute(
  ports: Ports,
  companyId: CompanyId,
  { started }: BoxView,
  chargeId: ChargeId,
  knownTo: number | null,
  cause: Cause,
): Promise<StopReason | null> {
  const { size, keyId, personId, unitPriceMicros, priceVersion, boxId: resource } = started
  const charge = () => ({
    via: "own_key" as const,
    keyId,
    personId,
    class: "general" as const,
    item: `box_minute_${size}`,
    quantity: 1,
    unitPriceMicros,
    priceVersion,
    amountMicros: unitPriceMicros,
    resource,
    isPending: false,
    exemption: null,
    requestedAt: ports.clock.now(),
    dueAt: null,
    servedFrom: null,
  })
  const named = { chargeId, knownTo }
  const refused = await chargeByName(ports, companyId, named, charge, cause)
  if (refused === null) return null
  ports.keepRefusal(companyId, refused)
  return REASONS[refused.code]
}

/** Whether the key that started a box may still do so, and its person too. */
async function mayGoOn(
  { runner }: Ports,
  companyId: CompanyId,
  { started: { keyId, personId } }: BoxView,
): Promise<boolean> {
  return runner.readLatest(accessOf(companyId), (state: Access) => {
    const key = findKey(state, keyId)
    if (key === null || !keyWorks(key)) return false
    const holder = { key, person: findPerson(state, personId) }
    const refused = operationRefusal(holder, START_RULES) ?? personRefusal(holder, START_RULES)
    return refused === null
  })
}
