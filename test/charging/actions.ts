/** Turns the intentions of a history into actions, from what is known at their turn. */
import type { ServedApiCall } from "../../domain/charging/api-calls.ts"
import type { LedgerCommand } from "../../domain/charging/ledger-commands.ts"
import type { ChargeRequest } from "../../domain/charging/ledger-events.ts"
import type { Limit } from "../../domain/charging/limits.ts"
import { accountChangeCommand } from "./account-changes.ts"
import { naiveCalendar } from "../kernel/naive-calendar.ts"
import type { LedgerFacts, ProcessKnowledge } from "./reference-views.ts"
import {
  limitReadingsFor,
  chargedIds,
  creditLineIn,
  fundsIn,
  isSameLimit,
  lastChargeOf,
  unrefundedAmountIn,
  limitsIn,
  pendingChargesIn,
  limitReadingOf,
} from "./reference-views.ts"
import type {
  AmountChoice,
  Intention,
  ChargeIntention,
  DecisionMoment,
  RefundPart,
  TurnDelay,
} from "./history.ts"

/** An action: a call is served, buffered calls are stored, or a command is decided. */
export type LedgerAction =
  | { readonly do: "serve"; readonly call: ServedApiCall }
  | { readonly do: "record" }
  | { readonly do: "decide"; readonly command: LedgerCommand }

/** The instant of the next turn. */
export function nextInstant(now: number, wait: TurnDelay): number {
  if ("ms" in wait) return now + wait.ms
  return Math.max(now, naiveCalendar[wait.until](now).to + wait.off)
}

const CHARGE_DEFAULTS: Omit<ChargeRequest, "chargeId"> = {
  via: "company",
  keyId: null,
  personId: null,
  class: "general",
  item: "text_segment",
  quantity: 1,
  unitPriceMicros: 0,
  priceVersion: 1,
  amountMicros: 0,
  resource: null,
  requestedAt: 0,
  dueAt: null,
  servedFrom: null,
}

/** The actions of an intention: usually one; none if there is nothing to act on. */
export function actionsFor(
  known: ProcessKnowledge,
  meant: Intention,
  moment: DecisionMoment,
): readonly LedgerAction[] {
  switch (meant.do) {
    case "serve":
      return [{ do: "serve", call: callOf(meant) }]
    case "record":
      return [{ do: "record" }]
    case "charge many":
      return Array.from({ length: meant.count }, (_, i) => {
        return { do: "decide", command: uniqueCharge(known.facts, `many_${moment.newId}:${i}`, 0) }
      })
    default:
      return commandsOf(known, meant, moment).map((command) => ({ do: "decide", command }))
  }
}

function callOf({ caller, priceMicros }: Extract<Intention, { do: "serve" }>): ServedApiCall {
  // A different price has a different version: both must be those of the day's first call.
  return { ...caller, unitPriceMicros: priceMicros, priceVersion: 1 + priceMicros }
}

type CommandIntention = Exclude<Intention, { do: "serve" | "record" | "charge many" }>

function commandsOf(
  known: ProcessKnowledge,
  meant: CommandIntention,
  moment: DecisionMoment,
): readonly LedgerCommand[] {
  const { facts } = known
  switch (meant.do) {
    case "charge":
      return [chargeOf(known, meant, moment)]
    case "charge once":
      return chargeOnce(facts, meant, moment)
    case "close": {
      const chargeIds = meant.places.map((one) => chargedIdAt(facts, one) ?? "chg_unknown")
      return [{ type: "SettleCharges", chargeIds }]
    }
    case "refund": {
      const open = pendingChargesIn(facts)
      // Usually a pending charge; sometimes one that has ended or never existed.
      const openId = meant.place % 4 === 0 ? undefined : open[meant.place % open.length]
      const chargeId = openId ?? chargedIdAt(facts, meant.place) ?? "chg_unknown"
      const charged = lastChargeOf(facts, chargeId)?.amountMicros ?? 1
      const amountMicros = partOf(charged, meant.part)
      return [{ type: "RefundPendingCharge", chargeId, amountMicros, reason: "a reason" }]
    }
    case "operator refund":
      return operatorRefundCommands(facts, meant)
    case "limit":
      return [limitOf(known, meant, moment)]
    case "unlimit":
      return [{ type: "RemoveLimit", ...meant.name }]
    case "charge calls":
      return [{ type: "ChargeApiCalls", maxCharges: meant.most }]
    default:
      return [accountChangeCommand(facts, meant, moment)]
  }
}

function chargeOf(
  known: ProcessKnowledge,
  meant: ChargeIntention,
  moment: DecisionMoment,
): LedgerCommand {
  const { at, newId } = moment
  const { spender, isPending, exempt, quantity } = meant
  // Ids chosen by callers and ids of charged calls are never reused here.
  const ids = chargedIds(known.facts).filter((id) => id.startsWith("chg_"))
  const used = meant.repeatsCharge === null ? undefined : ids[meant.repeatsCharge % ids.length]
  const spending = { ...spender, class: meant.class }
  const amountMicros = Math.max(0, amountOf(known, spending, meant.amount, moment))
  return {
    type: "Charge",
    ...CHARGE_DEFAULTS,
    ...spending,
    chargeId: used ?? newId,
    quantity,
    unitPriceMicros: amountMicros,
    amountMicros,
    requestedAt: at - meant.requestedEarlierMs,
    isPending,
    exemption: exempt,
    searchedUpTo: null,
  }
}

/** Charges under a name unless the search finds it: then the existing charge is the answer. */
function chargeOnce(
  facts: LedgerFacts,
  { name, micros, open: isPending, behind }: Extract<Intention, { do: "charge once" }>,
  { unitMicros }: DecisionMoment,
): readonly LedgerCommand[] {
  const searched = facts.slice(0, Math.max(0, facts.length - behind))
  if (lastChargeOf(searched, name) !== undefined) return []
  return [{ ...uniqueCharge(searched, name, micros * unitMicros), isPending }]
}

function uniqueCharge(
  searched: LedgerFacts,
  chargeId: string,
  micros: number,
): Extract<LedgerCommand, { type: "Charge" }> {
  const amount = { unitPriceMicros: micros, amountMicros: micros }
  const how = { isPending: false, exemption: null, searchedUpTo: searched.length - 1 }
  return { type: "Charge", ...CHARGE_DEFAULTS, chargeId, ...amount, ...how }
}

/** An operator's refund of a charge as a lagging search shows it, with its refunds so far. */
function operatorRefundCommands(
  facts: LedgerFacts,
  { place, part, behind }: Extract<Intention, { do: "operator refund" }>,
): readonly LedgerCommand[] {
  const searched = facts.slice(0, Math.max(0, facts.length - behind))
  const chargeId = chargedIdAt(searched, place)
  const charged = chargeId === undefined ? undefined : lastChargeOf(searched, chargeId)
  if (charged === undefined) return []
  const { via, keyId, personId, class: charging, item, resource, amountMicros: whole } = charged
  const spent = { via, keyId, personId, class: charging, item, resource }
  const refundableMicros = unrefundedAmountIn(searched, charged)
  const chargedAt = charged.isAlreadyCounted ? (charged.servedFrom ?? charged.at) : charged.at
  return [
    {
      type: "RefundSettledCharge",
      charge: { ...spent, chargeId: charged.chargeId, amountMicros: whole, countedAt: chargedAt },
      refundableMicros,
      amountMicros: partOf(refundableMicros, part),
      reason: "by hand",
      searchedUpTo: searched.length - 1,
    },
  ]
}

function partOf(whole: number, part: RefundPart): number | null {
  return { whole: null, some: Math.ceil(whole / 2), over: whole + 1, none: 0 }[part]
}

function amountOf(
  known: ProcessKnowledge,
  spending: Pick<ChargeRequest, "via" | "keyId" | "personId" | "class">,
  meant: AmountChoice,
  { at, unitMicros }: DecisionMoment,
): number {
  if ("micros" in meant) return meant.micros * unitMicros
  const funds = fundsIn(known.facts) + creditLineIn(known.facts)
  if (meant.left === "funds") return funds + meant.off
  const left = limitReadingsFor(known, spending, at, 0)
    .filter(({ holder }) => meant.left === "least" || holder === meant.left)
    .map(({ remainingMicros }) => remainingMicros)
  return Math.min(funds + 1, ...left) + meant.off
}

function limitOf(
  known: ProcessKnowledge,
  { name, period: wanted, amount: meant }: Extract<Intention, { do: "limit" }>,
  { at, unitMicros }: DecisionMoment,
): LedgerCommand {
  const { leaveKeysOut, reminderOff } = meant
  // Only a key has limits per day; sometimes the history requests an invalid limit.
  const isLegal = name.holder === "key" || meant.remindersMicros.length === 2
  const legal: Limit = {
    ...name,
    period: wanted === "day" && !isLegal ? "month" : wanted,
    amountMicros: 0,
    remindersMicros: meant.remindersMicros,
    leaveKeysOut: leaveKeysOut && name.holder === "person",
  }
  const former = limitsIn(known.facts).find((limit) => isSameLimit(limit, name))
  const used = limitReadingOf(known, former ?? legal, at, 0).usedMicros
  const amountMicros = "micros" in meant ? meant.micros * unitMicros : Math.max(0, used + meant.off)
  const near = reminderOff === null ? [] : [Math.max(1, used + reminderOff)]
  const remindersMicros = [...meant.remindersMicros, ...near]
  return { type: "SetLimit", ...legal, amountMicros, remindersMicros }
}

function chargedIdAt(facts: LedgerFacts, wanted: number): string | undefined {
  const ids = chargedIds(facts)
  return ids[wanted % Math.max(1, ids.length)]
}
