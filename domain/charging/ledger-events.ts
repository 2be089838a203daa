/** The facts of a company's ledger, by their names. What each says is in `ledger-formats.ts`. */
import type { FactOf } from "../kernel/format.ts"
import type { ValueOf, ValuesOf } from "../kernel/kind.ts"
import type {
  CHARGE_REFUSAL_CODES,
  callTally,
  chargeRefusedFormat,
  ledgerFormats,
  requestFields,
} from "./ledger-formats.ts"

type Facts = typeof ledgerFormats

/** Everything that can happen to a ledger. */
export type LedgerEvent = FactOf<Facts>

/** Those of its facts that are of these types. */
export type LedgerFact<T extends LedgerEvent["type"]> = FactOf<Facts, T>

/** Money was spent: the check against funds and limits and the reservation are this one fact. */
export type Charged = LedgerFact<"Charged">
/** All or part of a charge came back to the funds. */
export type ChargeReduced = LedgerFact<"ChargeReduced">
/** API calls of one UTC day were counted. */
export type ApiCallsCounted = LedgerFact<"ApiCallsCounted">
/** A limit was set or replaced: a holder has one per class, a key has one. */
export type LimitSet = LedgerFact<"LimitSet">
/** Spending reached an amount at which people want to hear of it. */
export type ReminderReached = LedgerFact<"ReminderReached">
/** A UTC month is over: its bill never changes again. */
export type MonthClosed = LedgerFact<"MonthClosed">

/** How many calls one key served for one person, or for nobody in particular. */
export type CallTally = ValueOf<typeof callTally>

/** Who spends and for what: the part that a charge and its refusal share. */
export type ChargeRequest = ValuesOf<typeof requestFields>

/** Why a charge was refused. */
export type ChargeRefusalCode = (typeof CHARGE_REFUSAL_CODES)[number]

/** A charge that was not accepted, with everything the decision looked at. */
export type ChargeRefused = FactOf<{ readonly ChargeRefused: typeof chargeRefusedFormat }>
