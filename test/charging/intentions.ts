/** What the intentions of a history come to, given the facts that there are when their turn comes. */
import type { Stamped } from "../../domain/kernel/decider.ts"
import type { ChargeRequest } from "../../domain/charging/ledger-events.ts"
import type { LedgerCommand } from "../../domain/charging/ledger-commands.ts"
import type { Limit } from "../../domain/charging/limits.ts"
import { naiveCalendar } from "../kernel/naive-calendar.ts"
import type { Amount, Intention, Turn } from "./histories.ts"
import type { Facts } from "./plain-facts.ts"
import {
  applyingTo,
  creditLineIn,
  fundsIn,
  isSameName,
  limitsIn,
  openIn,
  readingOf,
  spentIn,
} from "./plain-facts.ts"

/** When the next command is decided. */
export function nextInstant(now: number, { wait: pause }: Turn): number {
  if ("ms" in pause) return now + pause.ms
  return Math.max(now, naiveCalendar[pause.until](now).to + pause.off)
}

/** What a turn's intention comes to after these facts. `fresh` names a charge like no other. */
export function commandOf(
  facts: Facts,
  { intention: meant }: Turn,
  at: number,
  fresh: string,
): LedgerCommand & Stamped {
  switch (meant.do) {
    case "charge":
      return chargeOf(facts, meant, at, fresh)
    case "close": {
      const chargeIds = meant.places.map((one) => usedId(facts, one) ?? "chg_unknown")
      return { type: "CloseCharges", at, chargeIds }
    }
    case "give back": {
      const open = openIn(facts)
      // Mostly an open charge; sometimes one that has ended, or that never was.
      const openId = meant.place % 4 === 0 ? undefined : open[meant.place % open.length]
      const chargeId = openId ?? usedId(facts, meant.place) ?? "chg_unknown"
      const charged = spentIn(facts).findLast((one) => one.charged.chargeId === chargeId)?.charged
      const whole = charged?.amountMicros ?? 1
      const parts = { whole: null, some: Math.ceil(whole / 2), over: whole + 1, none: 0 }
      return { type: "GiveBack", at, chargeId, amountMicros: parts[meant.part], reason: "a reason" }
    }
    case "limit":
      return limitOf(facts, meant, at)
    case "unlimit":
      return { type: "RemoveLimit", at, ...meant.name }
    case "funds":
      return { type: "AddFunds", at, amountMicros: meant.micros, reference: meant.reference }
    case "open":
      return { type: "OpenLedger", at, prepaidOnly: true, creditLineMicros: 3 }
    case "lock":
      return { type: "LockAccount", at }
    case "unlock":
      return { type: "UnlockAccount", at }
  }
}

function chargeOf(
  facts: Facts,
  meant: Extract<Intention, { do: "charge" }>,
  at: number,
  fresh: string,
): LedgerCommand & Stamped {
  const request: ChargeRequest = {
    chargeId: (meant.sameAs === null ? undefined : usedId(facts, meant.sameAs)) ?? fresh,
    ...meant.spender,
    class: meant.class,
    item: "text_segment",
    quantity: 1,
    unitPriceMicros: 0,
    priceVersion: 1,
    amountMicros: 0,
    resource: null,
    requestedAt: at - meant.askedEarlierMs,
    dueAt: null,
    servedFrom: null,
  }
  const amountMicros = Math.max(0, amountOf(facts, request, meant.amount, at))
  const { open, exempt } = meant
  return {
    type: "Charge",
    at,
    ...request,
    unitPriceMicros: amountMicros,
    amountMicros,
    open,
    exempt,
    searchedTo: null,
  }
}

function amountOf(facts: Facts, request: ChargeRequest, meant: Amount, at: number): number {
  if ("micros" in meant) return meant.micros
  const funds = fundsIn(facts) + creditLineIn(facts)
  if (meant.left === "funds") return funds + meant.off
  const left = applyingTo(facts, request, at)
    .filter(({ holder }) => meant.left === "least" || holder === meant.left)
    .map(({ remainingMicros }) => remainingMicros)
  return Math.min(funds + 1, ...left) + meant.off
}

function limitOf(
  facts: Facts,
  { name, period: wanted, amount: meant }: Extract<Intention, { do: "limit" }>,
  at: number,
): LedgerCommand & Stamped {
  const { remindersMicros, leaveKeysOut } = meant
  // A day is a key's alone; now and then somebody asks for one that cannot be.
  const isLegal = name.holder === "key" || remindersMicros.length === 2
  const legal: Limit = {
    ...name,
    period: wanted === "day" && !isLegal ? "month" : wanted,
    amountMicros: 0,
    remindersMicros,
    leaveKeysOut: leaveKeysOut && name.holder === "person",
  }
  const former = limitsIn(facts).find((limit) => isSameName(limit, name))
  const used = readingOf(facts, former ?? legal, at, 0).usedMicros
  const amountMicros = "micros" in meant ? meant.micros : Math.max(0, used + meant.off)
  return { type: "SetLimit", at, ...legal, amountMicros }
}

function usedId(facts: Facts, wanted: number): string | undefined {
  const spent = spentIn(facts)
  return spent[spent.length - 1 - (wanted % Math.max(1, spent.length))]?.charged.chargeId
}
