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
  intention: Intention,
  moment: DecisionMoment,
): readonly LedgerAction[] {
  switch (intention.do) {
    case "serve":
      return [{ do: "serve", call: callOf(intention) }]
    case "record":
      return [{ do: "record" }]
    case "charge many":
      return Array.from({ length: intention.count }, (_, i) => {
        return { do: "decide", command: uniqueCharge(known.facts, `many_${moment.newId}:${i}`, 0) }
      })
    default:
      return commandsOf(known, intention, moment).map((command) => ({ do: "decide", command }))
  }
}

function callOf({ caller, priceMicros }: Extract<Intention, { do: "serve" }>): ServedApiCall {
  // A different price has a different version: both must be those of the day's first call.
  return { ...caller, unitPriceMicros: priceMicros, priceVersion: 1 + priceMicros }
}

type CommandIntention = Exclude<Intention, { do: "serve" | "record" | "charge many" }>

function commandsOf(
  known: ProcessKnowledge,
  intention: CommandIntention,
  moment: DecisionMoment,
): readonly LedgerCommand[] {
  const { facts } = known
  switch (intention.do) {
    case "charge":
      return [chargeOf(known, intention, moment)]
    case "charge once":
      return chargeOnce(facts, intention, moment)
    case "close": {
      const chargeIds = intention.places.map((one) => chargedIdAt(facts, one) ?? "chg_unknown")
      return [{ type: "SettleCharges", chargeIds }]
    }
    case "refund": {
      const open = pendingChargesIn(facts)
      // Usually a pending charge; sometimes one that has ended or never existed.
      const openId = intention.place % 4 === 0 ? undefined : open[intention.place % open.length]
      const chargeId = openId ?? chargedIdAt(facts, intention.place) ?? "chg_unknown"
      const charged = lastChargeOf(facts, chargeId)?.amountMicros ?? 1
      const amountMicros = partOf(charged, intention.part)
      return [{ type: "RefundPendingCharge", chargeId, amountMicros, reason: "a reason" }]
    }
    case "operator refund":
      return operatorRefundCommands(facts, intention)
    case "limit":
      return [limitOf(known, intention, moment)]
    case "unlimit":
      return [{ type: "RemoveLimit", ...intention.name }]
    case "charge calls":
      return [{ type: "ChargeApiCalls", maxCharges: intention.most }]
    default:
      return [accountChangeCommand(facts, intention, moment)]
  }
}

function chargeOf(
  known: ProcessKnowledge,
  intention: ChargeIntention,
  moment: DecisionMoment,
): LedgerCommand {
  const { at, newId } = moment
  const { spender, isPending, exempt, quantity } = intention
  // Ids chosen by callers and ids of charged calls are never reused here.
  const ids = chargedIds(known.facts).filter((id) => id.startsWith("chg_"))
  const used =
    intention.repeatsCharge === null ? undefined : ids[intention.repeatsCharge % ids.length]
  const spending = { ...spender, class: intention.class }
  const amountMicros = Math.max(0, amountOf(known, spending, intention.amount, moment))
  return {
    type: "Charge",
    ...CHARGE_DEFAULTS,
    ...spending,
    chargeId: used ?? newId,
    quantity,
    unitPriceMicros: amountMicros,
    amountMicros,
    requestedAt: at - intention.requestedEarlierMs,
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
  const terms = { isPending: false, exemption: null, searchedUpTo: searched.length - 1 }
  return { type: "Charge", ...CHARGE_DEFAULTS, chargeId, ...amount, ...terms }
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
  choice: AmountChoice,
  { at, unitMicros }: DecisionMoment,
): number {
  if ("micros" in choice) return choice.micros * unitMicros
  const funds = fundsIn(known.facts) + creditLineIn(known.facts)
  if (choice.left === "funds") return funds + choice.off
  const left = limitReadingsFor(known, spending, at, 0)
    .filter(({ holder }) => choice.left === "least" || holder === choice.left)
    .map(({ remainingMicros }) => remainingMicros)
  return Math.min(funds + 1, ...left) + choice.off
}

function limitOf(
  known: ProcessKnowledge,
  { name, period, amount: choice }: Extract<Intention, { do: "limit" }>,
  { at, unitMicros }: DecisionMoment,
): LedgerCommand {
  const { leaveKeysOut, reminderOff } = choice
  // Only a key has limits per day; sometimes the history requests an invalid limit.
  const isLegal = name.holder === "key" || choice.remindersMicros.length === 2
  const legal: Limit = {
    ...name,
    period: period === "day" && !isLegal ? "month" : period,
    amountMicros: 0,
    remindersMicros: choice.remindersMicros,
    leaveKeysOut: leaveKeysOut && name.holder === "person",
  }
  const former = limitsIn(known.facts).find((limit) => isSameLimit(limit, name))
  const used = limitReadingOf(known, former ?? legal, at, 0).usedMicros
  const amountMicros =
    "micros" in choice ? choice.micros * unitMicros : Math.max(0, used + choice.off)
  const near = reminderOff === null ? [] : [Math.max(1, used + reminderOff)]
  const remindersMicros = [...choice.remindersMicros, ...near]
  return { type: "SetLimit", ...legal, amountMicros, remindersMicros }
}

function chargedIdAt(facts: LedgerFacts, index: number): string | undefined {
  const ids = chargedIds(facts)
  return ids[index % Math.max(1, ids.length)]
}
