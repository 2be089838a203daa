/** Checks the stated inputs of a decision against the events that prove them. */
import { hasInsufficientFunds } from "../../domain/charging/charge.ts"
import type { ChargeRefused, Charged, LedgerEvent } from "../../domain/charging/ledger-events.ts"
import { ledgerCodec } from "../../domain/charging/ledger-events.ts"
import type { LimitReading } from "../../domain/charging/limits.ts"
import { fitsLimit } from "../../domain/charging/limits.ts"
import { refusalCodec } from "../../domain/charging/refusals.ts"
import { FormatFault } from "../../domain/kernel/event-format.ts"
import { canonicalJson, decodeStored, readMetadata } from "../frame/kernel/envelope.ts"
import type { HistoryEvent } from "./history-file.ts"

/** The inputs of a decision, as a proof states them. */
export interface DecisionInputs {
  /** Last ledger revision before the decision. */
  readonly ledgerRevision: number
  readonly fundsMicros: number
  readonly creditLineMicros: number
  readonly prepaidOnly: boolean
  readonly locked: boolean
  /** Every limit that applied, in the order key, person, company. */
  readonly limits: readonly LimitReading[]
}

/**
 * What a proof states about a charge and no event in it proves. The stated values must still let
 * the charge pass.
 */
export const UNPROVEN_FOR_CHARGE =
  "the funds, whether the account was locked, the usage of each limit, that no other limit applied, and " +
  "that all later facts are included"
/** What a proof states about a refusal and no event in it proves. */
export const UNPROVEN_FOR_REFUSAL = "that the amounts in the refusal match the ledger's facts"

/** An event found in the tree. */
type ChainedEvent = HistoryEvent & { readonly previousHash: string }
type JsonFields = Readonly<Record<string, unknown>>
/** The first discrepancy; null if there is none. */
type InputsFault = { readonly expected: string; readonly found: string } | null

/** Takes the inputs from a refusal's evidence. */
export function inputsFromRefusal(refused: ChargeRefused): DecisionInputs {
  const { ledgerRevision, fundsMicros, creditLineMicros, prepaidOnly, limits } = refused
  const locked = refused.code === "account_locked"
  return { ledgerRevision, fundsMicros, creditLineMicros, prepaidOnly, locked, limits }
}

/**
 * Finds the first input that the proven events contradict, or that would have refused the charge;
 * null if there is none.
 *
 * @param facts the events that the inputs name, each found in the tree
 * @throws FormatFault, EnvelopeFault for an event that cannot be read
 */
export function decisionInputsFault(
  event: ChainedEvent,
  inputs: DecisionInputs,
  facts: readonly ChainedEvent[],
): InputsFault {
  if (event.type !== "ChargeRefused") {
    const charged = () => decodeStored(ledgerCodec, event) as Charged
    return chargeFault(event, inputs, facts) ?? acceptanceFault(charged(), inputs)
  }
  const refused = decodeStored(refusalCodec, event)
  if (refused.type !== "ChargeRefused")
    throw new FormatFault(`${event.type} is not a refused charge`)
  return firstDifferingField(
    { ...inputsFromRefusal(refused) },
    { ...inputs },
    "as the refusal states",
  )
}

/** Explains why the inputs would not have let a charge pass, by the rules of `charge.ts`. */
function acceptanceFault(charged: Charged, inputs: DecisionInputs): InputsFault {
  const { amountMicros, isAlreadyCounted, at } = charged
  const { locked, fundsMicros, limits } = inputs
  if (locked) return { expected: "inputs.locked false, because it was charged", found: "true" }
  if (hasInsufficientFunds(charged, inputs)) {
    const expected = `inputs.fundsMicros that let ${amountMicros} micros be charged`
    return { expected, found: String(fundsMicros) }
  }
  for (const limit of limits) {
    const { amountMicros: most, usedMicros, remainingMicros, askedMicros } = limit
    const isNow = limit.windowStart <= at && at < limit.resetsAt
    const isRead = remainingMicros === Math.max(0, most - usedMicros) && isNow
    if (isRead && askedMicros === amountMicros && (isAlreadyCounted || fitsLimit(limit))) continue
    const expected = `a reading in inputs.limits that lets ${amountMicros} micros be charged`
    return { expected, found: JSON.stringify(limit) }
  }
  return null
}

function chargeFault(
  event: ChainedEvent,
  inputs: DecisionInputs,
  facts: readonly ChainedEvent[],
): InputsFault {
  const { stream, revision, previousHash } = event
  const foreign = facts.find((one) => one.stream !== stream || one.revision >= revision)
  if (foreign !== undefined) {
    const expected = `inputs.events before revision ${revision} of ${stream}`
    return { expected, found: `${foreign.stream} revision ${foreign.revision}` }
  }
  const before = facts.find((one) => one.revision === revision - 1)
  const hash = before === undefined ? null : readMetadata(before.metadata).hash
  if (hash !== previousHash) {
    const expected = `the fact before it among inputs.events, with hash ${previousHash}`
    return { expected, found: hash ?? "none of that revision" }
  }
  const decoded = facts
    .toSorted((a, b) => a.revision - b.revision)
    .map((one) => decodeStored(ledgerCodec, one))
  return termsFault(inputs, revision, decoded) ?? limitsFault(inputs, decoded)
}

function termsFault(
  inputs: DecisionInputs,
  revision: number,
  facts: readonly LedgerEvent[],
): InputsFault {
  const terms = facts.findLast(({ type }) => type === "TermsChanged" || type === "LedgerOpened")
  if (terms?.type !== "TermsChanged" && terms?.type !== "LedgerOpened") {
    return { expected: "the fact that set the terms among inputs.events", found: "none" }
  }
  const { prepaidOnly } = terms
  const creditLineMicros = prepaidOnly ? 0 : terms.creditLineMicros
  const proven = { ledgerRevision: revision - 1, creditLineMicros, prepaidOnly }
  return firstDifferingField(proven, { ...inputs }, "as its events state")
}

function limitsFault({ limits }: DecisionInputs, facts: readonly unknown[]): InputsFault {
  const set = (facts as readonly LedgerEvent[]).filter((fact) => fact.type === "LimitSet")
  for (const limit of limits) {
    const fact = set.findLast(
      (one) =>
        one.holder === limit.holder &&
        one.holderId === limit.holderId &&
        one.class === limit.class &&
        one.period === limit.period,
    )
    if (fact?.amountMicros === limit.amountMicros) continue
    const { holder, holderId, class: limited, period, amountMicros } = limit
    const name = `${[holder, holderId, limited, period].filter(Boolean).join(" ")} limit`
    const expected = `the ${name} of ${amountMicros} micros set by one of inputs.events`
    return { expected, found: fact === undefined ? "none" : `one of ${fact.amountMicros} micros` }
  }
  return null
}

/** Finds the first input that differs from its proven value. */
function firstDifferingField(proven: JsonFields, inputs: JsonFields, why: string): InputsFault {
  for (const [name, value] of Object.entries(proven)) {
    const [wanted, found] = [canonicalJson(value), canonicalJson(inputs[name])]
    if (wanted !== found) return { expected: `inputs.${name} ${wanted}, ${why}`, found }
  }
  return null
}
