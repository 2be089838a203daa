/** Facts and commands of a ledger, with defaults for the fields that a test does not need. */
import type { DecisionStamp } from "../../domain/kernel/decider.ts"
import type {
  ChargeCommand,
  RecordApiCalls,
  SetLimit,
} from "../../domain/charging/ledger-commands.ts"
import type {
  ApiCallsCounted,
  ChargeReduced,
  ChargeRequest,
  Charged,
  LedgerEvent,
  LimitSet,
  MonthClosed,
  ReminderReached,
} from "../../domain/charging/ledger-events.ts"
import type { Limit } from "../../domain/charging/limits.ts"

/** Monday, 2 March 2026, 10:00 UTC. */
export const NOW = Date.parse("2026-03-02T10:00:00.000Z")

/** An instant by its ISO 8601 text, UTC milliseconds. */
export const isoInstant = (text: string): number => Date.parse(text)

/** The ledger was opened, with a credit line in micros. */
export const ledgerOpened = (creditLineMicros = 0): LedgerEvent => ({
  type: "LedgerOpened",
  at: NOW,
  prepaidOnly: false,
  creditLineMicros,
})

/** Funds were added. */
export const fundsAdded = (amountMicros: number, reference: string | null = null): LedgerEvent => ({
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

/** The company may spend 27,000 micros of class general a month, unless changed. */
export const limitSet = (changed: Partial<LimitSet> = {}): LimitSet => ({
  type: "LimitSet",
  at: NOW,
  ...limit,
  ...changed,
})

/** The command of `limitSet`. */
export const setLimitCommand = (
  changed: Partial<SetLimit & DecisionStamp> = {},
): SetLimit & DecisionStamp => ({
  type: "SetLimit",
  at: NOW,
  ...limit,
  ...changed,
})

/** The scope of a key's limit. */
export const KEY_LIMIT = { holder: "key", holderId: "key_1", class: "all" } as const
/** The scope of a person's limit. */
export const PERSON_LIMIT = { holder: "person", holderId: "per_1", class: "general" } as const

/** A text of 9,000 micros by a person's own key. */
export const CHARGE_REQUEST: ChargeRequest = {
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

/** `CHARGE_REQUEST` with changes; a changed amount is also the unit price. */
const requestOf = ({
  amountMicros = 9_000,
}: {
  readonly amountMicros?: number
}): ChargeRequest => ({
  ...CHARGE_REQUEST,
  unitPriceMicros: amountMicros,
  amountMicros,
})

/** A pending charge of `CHARGE_REQUEST`, unless changed. */
export const charged = (changed: Partial<Charged> = {}): Charged => ({
  type: "Charged",
  at: NOW,
  ...requestOf(changed),
  isPending: true,
  exemption: null,
  isExternalId: false,
  isAlreadyCounted: false,
  ...changed,
})

/** The command of `charged`. */
export const chargeCommand = (
  changed: Partial<ChargeCommand & DecisionStamp> = {},
): ChargeCommand & DecisionStamp => ({
  type: "Charge",
  at: NOW,
  ...requestOf(changed),
  isPending: true,
  exemption: null,
  searchedUpTo: null,
  ...changed,
})

/** The charge was refunded completely, unless changed. */
export const chargeReduced = (changed: Partial<ChargeReduced> = {}): ChargeReduced => ({
  type: "ChargeReduced",
  at: NOW,
  chargeId: "chg_1",
  amountMicros: 9_000,
  countedAt: NOW,
  via: "own_key",
  keyId: "key_1",
  personId: "per_1",
  class: "general",
  item: "text_segment",
  resource: "msg_1",
  reason: "the carrier refused it",
  ...changed,
})

/** The charges were settled. */
export const chargesSettled = (...chargeIds: readonly string[]): LedgerEvent => ({
  type: "ChargesSettled",
  at: NOW,
  chargeIds,
})

/** One call of the key on the day of `NOW`, at 100 micros, unless changed. */
export const apiCallsCounted = (changed: Partial<ApiCallsCounted> = {}): ApiCallsCounted => ({
  type: "ApiCallsCounted",
  at: NOW,
  day: isoInstant("2026-03-02"),
  unitPriceMicros: 100,
  priceVersion: 1,
  counters: [callCounter(1)],
  exemption: null,
  ...changed,
})

/** A counter with so many calls of the key for its person. */
export const callCounter = (calls: number): ApiCallsCounted["counters"][number] => ({
  via: "own_key",
  keyId: "key_1",
  personId: "per_1",
  calls,
})

/** The command of `apiCallsCounted`. */
export const recordCallsCommand = (
  changed: Partial<RecordApiCalls & DecisionStamp> = {},
): RecordApiCalls & DecisionStamp => ({
  type: "RecordApiCalls",
  at: NOW,
  day: isoInstant("2026-03-02"),
  unitPriceMicros: 100,
  priceVersion: 1,
  counters: [callCounter(1)],
  ...changed,
})

/** The charge of those calls in the following night. */
export const dailyCallsCharge = (changed: Partial<Charged> = {}): Charged => ({
  ...CHARGE_REQUEST,
  type: "Charged",
  at: isoInstant("2026-03-03"),
  chargeId: "key_1:per_1:2026-03-02",
  item: "api_call",
  unitPriceMicros: 100,
  amountMicros: 100,
  resource: null,
  requestedAt: isoInstant("2026-03-03"),
  dueAt: isoInstant("2026-03-03"),
  servedFrom: isoInstant("2026-03-02"),
  isPending: false,
  exemption: "funds",
  isExternalId: false,
  isAlreadyCounted: true,
  ...changed,
})

/** March 2026 was closed without any movement, unless changed. */
export const monthClosed = (changed: Partial<MonthClosed> = {}): MonthClosed => ({
  type: "MonthClosed",
  at: isoInstant("2026-04-01"),
  month: "2026-03",
  openingMicros: 0,
  addedMicros: 0,
  purchasedMicros: 0,
  correctedMicros: 0,
  chargedMicros: 0,
  reducedMicros: 0,
  fundsMicros: 0,
  charges: 0,
  headRevision: 0,
  headHash: "0".repeat(64),
  ...changed,
})

/** `charged` reached the reminder at 9,000 micros of `limitSet`, unless changed. */
export const reminderReached = (changed: Partial<ReminderReached> = {}): ReminderReached => ({
  type: "ReminderReached",
  at: NOW,
  holder: "company",
  holderId: null,
  class: "general",
  period: "month",
  limitMicros: 27_000,
  reminderMicros: 9_000,
  usedMicros: 9_000,
  windowStart: isoInstant("2026-03-01"),
  resetsAt: isoInstant("2026-04-01"),
  ...changed,
})
