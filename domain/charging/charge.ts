/**
 * Whether a charge is accepted: the rules in the order of decisions.md §1 and §4, and the evidence
 * of a no. Every charge of every company passes here, so the common way makes no object but its fact.
 */
import { creditOf } from "./ledger-views.ts"
import type { Micros } from "../kernel/money.ts"
import { isMicros } from "../kernel/money.ts"
import type { Charge, LedgerRefused } from "./ledger-commands.ts"
import type { ChargeRefusalCode, ChargeRefused, Charged, LedgerEvent } from "./ledger-formats.ts"
import type { Ledger } from "./ledger-state.ts"
import { readLimitsOn, remindersReached } from "./limit-book.ts"
import type { Spender } from "./limits.ts"
import { fits } from "./limits.ts"
import { holds } from "./months.ts"
import { known } from "./recent.ts"
import type { Verdict } from "./sums.ts"
import { judge, usedAt, windowsOf } from "./sums.ts"
import { companyPending, knownTallies } from "./tallies.ts"

/** No company may have more charges open than this: the next is refused until some end. */
export const MAX_OPEN_CHARGES = 10_000

/** Decides a charge: its fact and the reminders it reaches, nothing new, or a no. */
export function decideCharge(
  command: Charge,
  state: Ledger,
  at: number,
): readonly LedgerEvent[] | ChargeRefused | LedgerRefused {
  const { chargeId, amountMicros, quantity, searchedTo } = command
  if (state.open.has(chargeId)) return []
  const isProduct = amountMicros === quantity * command.unitPriceMicros
  if (amountMicros < 0 || quantity < 0 || !isProduct || !Number.isSafeInteger(quantity)) {
    // Below zero it would add to the funds; else the bill's line would not multiply out.
    const message = "A charge is 0 or more, and its quantity times its unit price."
    return { type: "LedgerRefused", at, code: "bad_amount", message }
  }
  if (searchedTo !== null) {
    const found = known(state.recent, chargeName(chargeId), searchedTo)
    if (found === "used") return []
    if (found === "unsure") return searchAgain(at)
  }
  const verdict = judgeCharge(command, state, at)
  const code = refusalCode(command, state, at, verdict)
  if (code !== null) return refuse(command, state, at, code)
  const charged = chargedBy(command, at)
  return verdict === "reaches a reminder" ? [charged, ...reminders(command, state, at)] : [charged]
}

/** The name under which a charge of a caller's own id is remembered. */
export function chargeName(chargeId: string): string {
  return `charge ${chargeId}`
}

/** The answer to a name that must be looked for once more. */
export function searchAgain(at: number): LedgerRefused {
  const message = "Too much has happened since this id was looked for: look again."
  return { type: "LedgerRefused", at, code: "search_again", message }
}

/** The worst that any limit which applies says of the charge. */
function judgeCharge(command: Charge, state: Ledger, at: number): Verdict {
  const { tallies } = state
  const { amountMicros } = command
  const isCurrent = at < tallies.windows.dayEnd
  let worst: Verdict = "fits"
  for (const tally of knownTallies(tallies, spenderOf(command), command.class)) {
    const verdict = isCurrent
      ? judge(tallies, tally, amountMicros)
      : judgeLater(state, tally, at, amountMicros)
    if (verdict === "does not fit") return verdict
    if (verdict === "is not exact" || worst === "fits") worst = verdict
  }
  return worst
}

/** The same once a window has ended since the last fact. */
function judgeLater(state: Ledger, tally: number, at: number, asked: Micros): Verdict {
  const { tallies, book } = state
  const windows = windowsOf(tallies, at)
  const reading = readLimitsOn(book, tallies, [tally], at, asked)[0]
  if (reading !== undefined && !fits(reading)) return "does not fit"
  const isExact =
    isMicros(usedAt(tallies, tally, "month", windows) + asked) &&
    isMicros(usedAt(tallies, tally, "week", windows) + asked)
  if (!isExact) return "is not exact"
  const reached = remindersReached(book, tallies, [[tally, () => asked]], at)
  return reached.length > 0 ? "reaches a reminder" : "fits"
}

/** The first rule that stands against a charge, in the order of decisions.md §1. */
function refusalCode(
  command: Charge,
  state: Ledger,
  at: number,
  verdict: Verdict,
): ChargeRefusalCode | null {
  const { amountMicros: asked, isPending } = command
  if (state.closedAt !== null) return "ledger_closed"
  if (state.locked) return "account_locked"
  if (verdict === "does not fit") return "spend_limit_reached"
  const { fundsMicros } = state
  if (isShort(command, { fundsMicros, creditLineMicros: creditOf(state) }))
    return "payment_required"
  if (isPending && state.open.size >= MAX_OPEN_CHARGES) return "too_many_open_charges"
  const isExact = verdict !== "is not exact" && isMicros(state.fundsMicros - asked)
  // What is open may come back within this month, beside what came back already.
  const holdsBack = !isPending || holds(state.month, "reducedMicros", state.openMicros + asked, at)
  const holdsSums = holdsBack && holds(state.month, "chargedMicros", asked, at)
  return isExact && holdsSums ? null : "amount_too_large"
}

/** Whether the funds are not enough for a charge that asks for them (decisions.md §4). */
export function isShort(
  { amountMicros, exemption }: Pick<Charge, "amountMicros" | "exemption">,
  { fundsMicros, creditLineMicros }: { readonly [K in "fundsMicros" | "creditLineMicros"]: Micros },
): boolean {
  // What costs nothing needs no funds, even where a correction took them below zero.
  if (amountMicros === 0 || amountMicros <= fundsMicros + creditLineMicros) return false
  return exemption === null || (exemption === "funds_while_above_zero" && fundsMicros <= 0)
}

function reminders(command: Charge, state: Ledger, at: number): readonly LedgerEvent[] {
  const { amountMicros } = command
  const touched = knownTallies(state.tallies, spenderOf(command), command.class)
  const spent = touched.map((tally) => [tally, () => amountMicros] as const)
  return remindersReached(state.book, state.tallies, spent, at)
}

/** Written out field by field: copying the command would be the dearest part of a decision. */
function chargedBy(command: Charge, at: number): Charged {
  return {
    type: "Charged",
    at,
    chargeId: command.chargeId,
    via: command.via,
    keyId: command.keyId,
    personId: command.personId,
    class: command.class,
    item: command.item,
    quantity: command.quantity,
    unitPriceMicros: command.unitPriceMicros,
    priceVersion: command.priceVersion,
    amountMicros: command.amountMicros,
    resource: command.resource,
    requestedAt: command.requestedAt,
    dueAt: command.dueAt,
    servedFrom: command.servedFrom,
    isPending: command.isPending,
    exemption: command.exemption,
    isExternalId: command.searchedTo !== null,
    isAlreadyCounted: false,
  }
}

function refuse(
  command: Charge,
  state: Ledger,
  at: number,
  code: ChargeRefusalCode,
): ChargeRefused {
  const { amountMicros } = command
  const on = knownTallies(state.tallies, spenderOf(command), command.class)
  const limits = readLimitsOn(state.book, state.tallies, on, at, amountMicros)
  const first = code === "spend_limit_reached" ? limits.findIndex((limit) => !fits(limit)) : null
  return {
    type: "ChargeRefused",
    at,
    chargeId: command.chargeId,
    via: command.via,
    keyId: command.keyId,
    personId: command.personId,
    class: command.class,
    item: command.item,
    quantity: command.quantity,
    unitPriceMicros: command.unitPriceMicros,
    priceVersion: command.priceVersion,
    amountMicros,
    resource: command.resource,
    requestedAt: command.requestedAt,
    dueAt: command.dueAt,
    servedFrom: command.servedFrom,
    isPending: command.isPending,
    exemption: command.exemption,
    code,
    ledgerRevision: state.facts - 1,
    fundsMicros: state.fundsMicros,
    creditLineMicros: creditOf(state),
    prepaidOnly: state.prepaidOnly,
    unrecordedMicros: companyPending(state.tallies, windowsOf(state.tallies, at)),
    limits,
    refusingLimit: first,
  }
}

/** The spender of a request or fact, as the union whose cases say what may be null. */
export function spenderOf(request: Pick<Charge, "via" | "keyId" | "personId">): Spender {
  return request as Spender
}
