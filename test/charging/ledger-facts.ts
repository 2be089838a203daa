/** Facts and commands of a ledger with everything said that a test does not care about. */
import type { Stamped } from "../../domain/kernel/decider.ts"
import type {
  ChargeGivenBack,
  ChargeRequest,
  Charged,
  LedgerEvent,
  LimitSet,
} from "../../domain/charging/ledger-events.ts"
import type { Charge, SetLimit } from "../../domain/charging/ledger-commands.ts"
import type { Limit } from "../../domain/charging/limits.ts"

/** Monday, 2 March 2026, 10:00 UTC. */
export const NOW = Date.parse("2026-03-02T10:00:00.000Z")

/** An instant by its ISO 8601 text, UTC milliseconds. */
export const at = (text: string): number => Date.parse(text)

/** The ledger exists, with a credit line in micros. */
export const opened = (creditLineMicros = 0): LedgerEvent => ({
  type: "LedgerOpened",
  at: NOW,
  prepaidOnly: false,
  creditLineMicros,
})

/** Funds were added. */
export const funded = (amountMicros: number, reference: string | null = null): LedgerEvent => ({
  type: "FundsAdded",
  at: NOW,
  amountMicros,
  reference,
})

const limit: Limit = {
  holder: "company",
  holderId: null,
  class: "general",
  period: "month",
  amountMicros: 27_000,
  remindersMicros: [],
  leaveKeysOut: false,
}

/** The company may spend 27,000 micros a month in general, or as these say. */
export const limitSet = (changed: Partial<LimitSet> = {}): LimitSet => ({
  type: "LimitSet",
  at: NOW,
  ...limit,
  ...changed,
})

/** The command of `limitSet`. */
export const setLimit = (changed: Partial<SetLimit & Stamped> = {}): SetLimit & Stamped => ({
  type: "SetLimit",
  at: NOW,
  ...limit,
  ...changed,
})

/** What names a key's limit. */
export const KEY_LIMIT = { holder: "key", holderId: "key_1", class: "all" } as const
/** What names a person's limit. */
export const PERSON_LIMIT = { holder: "person", holderId: "per_1", class: "general" } as const

/** A text of 9,000 micros by a person's own key. */
export const REQUEST: ChargeRequest = {
  chargeId: "chg_1",
  via: "own_key",
  keyId: "key_1",
  personId: "per_1",
  class: "general",
  item: "text_segment",
  quantity: 1,
  unitPriceMicros: 9_000,
  priceVersion: 1,
  amountMicros: 9_000,
  resource: "msg_1",
  requestedAt: NOW,
  dueAt: null,
  servedFrom: null,
}

/** That request; where another amount is given, as one unit of that price. */
const requestOf = ({
  amountMicros = 9_000,
}: {
  readonly amountMicros?: number
}): ChargeRequest => ({
  ...REQUEST,
  unitPriceMicros: amountMicros,
  amountMicros,
})

/** An open charge of that request, or as these say. */
export const charged = (changed: Partial<Charged> = {}): Charged => ({
  type: "Charged",
  at: NOW,
  ...requestOf(changed),
  open: true,
  exempt: null,
  once: false,
  weighed: false,
  ...changed,
})

/** The command of `charged`. */
export const charge = (changed: Partial<Charge & Stamped> = {}): Charge & Stamped => ({
  type: "Charge",
  at: NOW,
  ...requestOf(changed),
  open: true,
  exempt: null,
  searchedTo: null,
  ...changed,
})

/** That charge came back whole, or as these say. */
export const givenBack = (changed: Partial<ChargeGivenBack> = {}): ChargeGivenBack => ({
  type: "ChargeGivenBack",
  at: NOW,
  chargeId: "chg_1",
  amountMicros: 9_000,
  chargedAt: NOW,
  via: "own_key",
  keyId: "key_1",
  personId: "per_1",
  class: "general",
  item: "text_segment",
  resource: "msg_1",
  reason: "the carrier refused it",
  ...changed,
})

/** That charge's work succeeded. */
export const closed = (...chargeIds: readonly string[]): LedgerEvent => ({
  type: "ChargesClosed",
  at: NOW,
  chargeIds,
})
