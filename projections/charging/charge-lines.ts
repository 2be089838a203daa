/** The lines of bills: one for each ledger event that changes the funds. */
import type { RefundSettledCharge } from "../../domain/charging/ledger-commands.ts"
import type {
  Charged,
  ChargeReduced,
  ChargeRequest,
  LedgerFact,
} from "../../domain/charging/ledger-events.ts"
import type { SpendingClass } from "../../domain/charging/limits.ts"
import type { CompanyId, KeyId, PersonId } from "../../domain/kernel/ids.ts"
import type { Micros } from "../../domain/kernel/money.ts"
import type { CompanyFact } from "../kernel/projection.ts"
import type { RowOf, RowsOf } from "../kernel/table.ts"
import {
  bigintColumn,
  listIndex,
  instantColumn,
  integerColumn,
  nullableColumn,
  textColumn,
  defineTable,
} from "../kernel/table.ts"

/** The kind of a line of the bill (docs/decisions/billing.md). */
export type BillLineKind =
  "charge" | "give_back" | "api_calls" | "rent" | "purchase" | "funds_added" | "funds_corrected"

/** The state of a charge: `open` is pending, `final` is settled, `given_back` is fully refunded. */
export type ChargeState = "open" | "final" | "given_back"

/** The table `charges`. */
export const CHARGES_TABLE = defineTable(
  "charges",
  {
    company_id: textColumn<CompanyId>(),
    /** The revision of its event in the ledger, which orders the bill. */
    revision: bigintColumn(),
    kind: textColumn<BillLineKind>(),
    charge_id: nullableColumn(textColumn()),
    /** The charge that a refund corrects. */
    corrects: nullableColumn(textColumn()),
    /**
     * The state of a charge after its end, even while it is pending: see `OPEN_CHARGES_TABLE`; null for other
     * lines.
     */
    state: nullableColumn(textColumn<ChargeState>()),
    /** The refunded amount of a charge; 0 for other lines. */
    given_back_micros: bigintColumn<Micros>(),
    at: instantColumn(),
    served_from: nullableColumn(instantColumn()),
    item: nullableColumn(textColumn()),
    quantity: nullableColumn(bigintColumn()),
    unit_price_micros: nullableColumn(bigintColumn<Micros>()),
    price_version: nullableColumn(integerColumn()),
    /** The change of the funds; negative for charges. */
    amount_micros: bigintColumn<Micros>(),
    via: nullableColumn(textColumn<ChargeRequest["via"]>()),
    person_id: nullableColumn(textColumn<PersonId>()),
    key_id: nullableColumn(textColumn<KeyId>()),
    class: nullableColumn(textColumn<SpendingClass>()),
    /** What was paid for: a message, a box, a number, a purchase. */
    resource: nullableColumn(textColumn()),
    /** The reason of a refund or correction, a reference of added funds, or the id of a payment. */
    note: nullableColumn(textColumn()),
  },
  ["company_id", "revision"],
  "(charge_id, company_id, revision) where charge_id is not null",
  listIndex("(company_id, at)"),
  // For lists of one key's, person's or item's charges, newest first, regardless of the number of others.
  listIndex("(company_id, key_id, revision) where charge_id is not null"),
  listIndex("(company_id, person_id, revision) where charge_id is not null"),
  listIndex("(company_id, item, revision) where charge_id is not null"),
  listIndex("(company_id, split_part(resource, '@', 1), revision) where charge_id is not null"),
)

/**
 * The pending charges. Most end within moments, and changing their lines in `charges` would update each of its
 * indexes again.
 */
export const OPEN_CHARGES_TABLE = defineTable(
  "open_charges",
  { company_id: textColumn<CompanyId>(), charge_id: textColumn(), revision: bigintColumn() },
  ["company_id", "charge_id", "revision"],
)

declare module "../kernel/table.ts" {
  interface ReadModelTables extends RowsOf<typeof CHARGES_TABLE | typeof OPEN_CHARGES_TABLE> {}
}

/** A charge and the amount that its refunds left, in micro-dollars. */
export type RefundableCharge = Pick<RefundSettledCharge, "charge" | "refundableMicros">

/** A line of a bill. */
export type ChargeRow = RowOf<typeof CHARGES_TABLE>

/** The types of events that make a line. */
export const BILLED_FACT_TYPES = [
  "Charged",
  "ChargeReduced",
  "PurchasePaid",
  "FundsAdded",
  "FundsCorrected",
] as const

type LedgerFactRef = Pick<CompanyFact, "companyId" | "revision" | "fact">

/** Returns the line of an event; null if it does not change the funds. */
export function chargeRowOf(recorded: LedgerFactRef): ChargeRow | null {
  const { fact } = recorded
  switch (fact.type) {
    case "Charged":
      return chargeLine(recorded, fact)
    case "ChargeReduced":
      return refundLine(recorded, fact)
    case "PurchasePaid":
      return purchaseLine(recorded, fact)
    case "FundsAdded":
    case "FundsCorrected":
      return fundsLine(recorded, fact)
    default:
      return null
  }
}

/**
 * Converts a line to the charge of a `RefundSettledCharge` command, with its refundable amount.
 *
 * @throws RangeError if the line is not a charge
 */
export function refundableChargeOf(row: ChargeRow): RefundableCharge {
  const { charge_id: chargeId, via, class: charged, item, kind } = row
  if (chargeId === null || via === null || charged === null || item === null) {
    throw new RangeError(`line ${row.revision} of ${row.company_id} is not a charge`)
  }
  // API calls were counted on their own day, before the night of their charge.
  const countedAt = kind === "api_calls" ? (row.served_from ?? row.at) : row.at
  const amountMicros = 0 - row.amount_micros
  const charge = {
    chargeId,
    amountMicros,
    countedAt: countedAt.getTime(),
    via,
    keyId: row.key_id,
    personId: row.person_id,
    class: charged,
    item,
    resource: row.resource,
  }
  return { charge, refundableMicros: amountMicros - row.given_back_micros }
}

const NO_DETAILS = {
  charge_id: null,
  corrects: null,
  state: null,
  given_back_micros: 0,
  served_from: null,
  item: null,
  quantity: null,
  unit_price_micros: null,
  price_version: null,
  via: null,
  person_id: null,
  key_id: null,
  class: null,
  resource: null,
  note: null,
}

function bareLine(recorded: LedgerFactRef, kind: BillLineKind, amount: Micros): ChargeRow {
  const { companyId, revision, fact } = recorded
  return {
    ...NO_DETAILS,
    company_id: companyId,
    revision,
    kind,
    at: new Date(fact.at),
    amount_micros: amount,
  }
}

/** Prefix of the items of number rent. */
const RENT = "number_month_"

function chargeLine(recorded: LedgerFactRef, fact: Charged): ChargeRow {
  const kind = fact.isAlreadyCounted ? "api_calls" : fact.item.startsWith(RENT) ? "rent" : "charge"
  return {
    // A free charge changes the funds by 0 and not by -0.
    ...bareLine(recorded, kind, 0 - fact.amountMicros),
    charge_id: fact.chargeId,
    state: fact.isPending ? "open" : "final",
    served_from: fact.servedFrom === null ? null : new Date(fact.servedFrom),
    item: fact.item,
    quantity: fact.quantity,
    unit_price_micros: fact.unitPriceMicros,
    price_version: fact.priceVersion,
    via: fact.via,
    person_id: fact.personId,
    key_id: fact.keyId,
    class: fact.class,
    resource: fact.resource,
  }
}

function refundLine(recorded: LedgerFactRef, fact: ChargeReduced): ChargeRow {
  return {
    ...bareLine(recorded, "give_back", fact.amountMicros),
    corrects: fact.chargeId,
    via: fact.via,
    person_id: fact.personId,
    key_id: fact.keyId,
    class: fact.class,
    item: fact.item,
    resource: fact.resource,
    note: fact.reason,
  }
}

function purchaseLine(recorded: LedgerFactRef, fact: LedgerFact<"PurchasePaid">): ChargeRow {
  return {
    ...bareLine(recorded, "purchase", fact.amountMicros),
    person_id: fact.personId,
    key_id: fact.keyId,
    resource: fact.purchaseId,
    note: fact.paymentId,
  }
}

function fundsLine(
  recorded: LedgerFactRef,
  fact: LedgerFact<"FundsAdded" | "FundsCorrected">,
): ChargeRow {
  return fact.type === "FundsAdded"
    ? { ...bareLine(recorded, "funds_added", fact.amountMicros), note: fact.reference }
    : { ...bareLine(recorded, "funds_corrected", fact.amountMicros), note: fact.reason }
}
