/** Read model `purchases`: each key's purchase limits, and every purchase of a company with its state. */
import type { Kysely, Transaction } from "kysely"
import { sql } from "kysely"
import type { PurchaseAllowance } from "../../domain/charging/ledger-views.ts"
import type { PurchaseTerms } from "../../domain/charging/purchase-events.ts"
import type { CompanyId, KeyId, PersonId, PurchaseId } from "../../domain/kernel/ids.ts"
import type { Micros } from "../../domain/kernel/money.ts"
import { monthEnd, monthStart } from "../../domain/kernel/window.ts"
import type { CompanyFact } from "../kernel/projection.ts"
import { companyFacts, companyFactsOfType, defineReadModel } from "../kernel/projection.ts"
import type { RowOf, RowsOf } from "../kernel/table.ts"
import {
  bigintColumn,
  instantColumn,
  nullableColumn,
  textColumn,
  tablesOf,
  defineTable,
} from "../kernel/table.ts"

const PURCHASE_TERMS = defineTable(
  "purchase_terms",
  {
    company_id: textColumn<CompanyId>(),
    key_id: textColumn<KeyId>(),
    mode: textColumn<PurchaseTerms["mode"]>(),
    per_purchase_micros: bigintColumn<Micros>(),
    per_month_micros: bigintColumn<Micros>(),
  },
  ["company_id", "key_id"],
)

/** The purchase terms of a key, as an owner set them. */
export type PurchaseTermsRow = RowOf<typeof PURCHASE_TERMS>

const PURCHASES = defineTable(
  "purchases",
  {
    company_id: textColumn<CompanyId>(),
    purchase_id: textColumn<PurchaseId>(),
    /** Null if an owner bought without a key. */
    key_id: nullableColumn(textColumn<KeyId>()),
    person_id: nullableColumn(textColumn<PersonId>()),
    amount_micros: bigintColumn<Micros>(),
    state: textColumn<"pending" | "paid" | "failed">(),
    /** Its UTC month determines the allowance that is used. */
    started_at: instantColumn(),
    /** When the outcome was recorded; null while it is pending. */
    ended_at: nullableColumn(instantColumn()),
    /** The payment provider's id of the payment; null while unknown. */
    payment_id: nullableColumn(textColumn()),
    code: nullableColumn(textColumn()),
  },
  ["company_id", "purchase_id"],
  "(company_id, key_id, started_at)",
)

export type PurchaseRow = RowOf<typeof PURCHASES>

type Tables = RowsOf<typeof PURCHASE_TERMS | typeof PURCHASES>

declare module "../kernel/table.ts" {
  interface ReadModelTables extends RowsOf<typeof PURCHASE_TERMS | typeof PURCHASES> {}
}

/** The read model `purchases`. */
export const purchasesReadModel = defineReadModel({
  name: "purchases",
  version: 3,
  on: ["PurchaseTermsSet", "PurchaseStarted", "PurchaseOrdered", "PurchasePaid", "PurchaseFailed"],
  ...tablesOf(PURCHASES, PURCHASE_TERMS),
  apply: async (tx: Transaction<Tables>, facts) => {
    const terms = new Map<string, PurchaseTermsRow>()
    for (const { fact, companyId } of companyFactsOfType(facts, "PurchaseTermsSet")) {
      terms.set(`${companyId} ${fact.keyId}`, PURCHASE_TERMS.rowOf({ ...fact, companyId }))
    }
    await PURCHASE_TERMS.upsert(tx, [...terms.values()])
    const started = companyFactsOfType(facts, "PurchaseStarted").map(({ companyId, fact }) =>
      PURCHASES.rowOf({ ...fact, companyId, state: "pending", startedAt: fact.at }),
    )
    await PURCHASES.insert(tx, started)
    const ordered = companyFactsOfType(facts, "PurchaseOrdered").map(({ companyId, fact }) => ({
      company_id: companyId,
      purchase_id: fact.purchaseId,
      payment_id: fact.paymentId,
    }))
    await PURCHASES.update(tx, ["payment_id"], ordered)
    const outcomes = companyFacts(facts)
      .map(outcomeOf)
      .filter((outcome) => outcome !== null)
    await PURCHASES.update(tx, ["state", "ended_at", "payment_id", "code"], outcomes)
  },
})

type PurchaseOutcome = Pick<
  PurchaseRow,
  "company_id" | "purchase_id" | "state" | "ended_at" | "payment_id" | "code"
>

/** The outcome of a purchase, which has one outcome. */
function outcomeOf({ fact, companyId }: CompanyFact): PurchaseOutcome | null {
  if (fact.type !== "PurchasePaid" && fact.type !== "PurchaseFailed") return null
  const isPaid = fact.type === "PurchasePaid"
  return {
    company_id: companyId,
    purchase_id: fact.purchaseId,
    state: isPaid ? "paid" : "failed",
    ended_at: new Date(fact.at),
    payment_id: fact.paymentId,
    code: isPaid ? null : fact.code,
  }
}

/**
 * Returns the purchase limits of a key, and how much of them its purchases of the UTC month that contains `at`
 * (milliseconds) use; null if no owner has set them.
 */
export async function findPurchaseAllowance(
  db: Kysely<Tables>,
  companyId: CompanyId,
  keyId: KeyId,
  at: number,
): Promise<PurchaseAllowance | null> {
  const sumOf = (state: PurchaseRow["state"]) =>
    sql<Micros>`coalesce(sum(amount_micros) filter (where state = ${state}), 0)::bigint`
  const row = await db
    .selectFrom("purchase_terms as terms")
    .leftJoin("purchases", (join) =>
      join
        .onRef("purchases.company_id", "=", "terms.company_id")
        .onRef("purchases.key_id", "=", "terms.key_id")
        .on("started_at", ">=", new Date(monthStart(at)))
        .on("started_at", "<", new Date(monthEnd(at))),
    )
    .select(["mode", "per_purchase_micros as perPurchaseMicros"])
    .select(["per_month_micros as perMonthMicros"])
    .select([sumOf("paid").as("paidMicros"), sumOf("pending").as("pendingMicros")])
    .where("terms.company_id", "=", companyId)
    .where("terms.key_id", "=", keyId)
    .groupBy(["mode", "per_purchase_micros", "per_month_micros"])
    .executeTakeFirst()
  return row ?? null
}

/** Lists the pending purchases of a company, or of all (null). */
export async function listPendingPurchases(
  db: Kysely<Tables>,
  companyId: CompanyId | null,
): Promise<readonly PurchaseRow[]> {
  const pending = db.selectFrom("purchases").selectAll().where("state", "=", "pending")
  return (companyId === null ? pending : pending.where("company_id", "=", companyId))
    .orderBy("purchase_id")
    .execute()
}

/** Finds a purchase; null if there is none with this id. */
export async function findPurchase(
  db: Kysely<Tables>,
  companyId: CompanyId,
  purchaseId: PurchaseId,
): Promise<PurchaseRow | null> {
  const row = await db
    .selectFrom("purchases")
    .selectAll()
    .where("company_id", "=", companyId)
    .where("purchase_id", "=", purchaseId)
    .executeTakeFirst()
  return row ?? null
}
