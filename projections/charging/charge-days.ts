/**
 * Read model `charge-days`: charges by UTC day, item, person and key, and when each key was last used. As in the
 * limits, an amount belongs to the day on which it was counted: API calls to the day of the calls, and a refund to
 * the day of its charge.
 */
import type { Kysely, Transaction } from "kysely"
import { sql } from "kysely"
import type { LedgerEvent } from "../../domain/charging/ledger-events.ts"
import type { SpendingClass } from "../../domain/charging/limits.ts"
import type { CompanyId, KeyId, PersonId } from "../../domain/kernel/ids.ts"
import type { Micros } from "../../domain/kernel/money.ts"
import { dayStart } from "../../domain/kernel/window.ts"
import type { ChargesQuery } from "./charge-queries.ts"
import { companyFacts, defineReadModel } from "../kernel/projection.ts"
import type { RowOf, RowsOf } from "../kernel/table.ts"
import { bigintColumn, instantColumn, textColumn, tablesOf, defineTable } from "../kernel/table.ts"

const DAY_MS = 86_400_000

const CHARGE_DAYS = defineTable(
  "charge_days",
  {
    company_id: textColumn<CompanyId>(),
    /** The UTC day, `YYYY-MM-DD`. */
    day: textColumn(),
    item: textColumn(),
    class: textColumn<SpendingClass>(),
    /** Empty without a person. */
    person_id: textColumn<PersonId | "">(),
    /** Empty without a key. */
    key_id: textColumn<KeyId | "">(),
    charged_micros: bigintColumn<Micros>(),
    given_back_micros: bigintColumn<Micros>(),
    /** The number of charges, including refunded ones. */
    charges: bigintColumn(),
  },
  ["company_id", "day", "item", "class", "person_id", "key_id"],
  "(company_id, item)",
)

const KEY_USES = defineTable(
  "key_uses",
  {
    company_id: textColumn<CompanyId>(),
    key_id: textColumn<KeyId>(),
    /** The time of its newest charge, or of its newest counted calls. */
    last_used_at: instantColumn(),
  },
  ["company_id", "key_id"],
)

type ChargeDayRow = RowOf<typeof CHARGE_DAYS>
type KeyUseRow = RowOf<typeof KEY_USES>

export type ChargeDayTables = RowsOf<typeof CHARGE_DAYS | typeof KEY_USES>

declare module "../kernel/table.ts" {
  interface ReadModelTables extends RowsOf<typeof CHARGE_DAYS | typeof KEY_USES> {}
}

/** The read model `charge-days`. */
export const chargeDaysReadModel = defineReadModel({
  name: "charge-days",
  version: 1,
  on: ["Charged", "ChargeReduced", "ApiCallsCounted"],
  ...tablesOf(CHARGE_DAYS, KEY_USES),
  apply: async (tx: Transaction<ChargeDayTables>, facts) => {
    const days = new Map<string, ChargeDayRow>()
    const uses = new Map<string, KeyUseRow>()
    for (const { fact, companyId } of companyFacts(facts)) {
      const added = dayOf(companyId, fact)
      if (added !== null) addTo(days, added)
      for (const use of usesIn(companyId, fact)) {
        const key = `${use.company_id} ${use.key_id}`
        const former = uses.get(key)
        if (former === undefined || former.last_used_at < use.last_used_at) uses.set(key, use)
      }
    }
    await CHARGE_DAYS.insert(
      tx,
      [...days.values()],
      sql`on conflict (company_id, day, item, class, person_id, key_id) do update
        set charged_micros = charge_days.charged_micros + excluded.charged_micros,
            given_back_micros = charge_days.given_back_micros + excluded.given_back_micros,
            charges = charge_days.charges + excluded.charges`,
    )
    await KEY_USES.insert(
      tx,
      [...uses.values()],
      sql`on conflict (company_id, key_id) do update
        set last_used_at = greatest(key_uses.last_used_at, excluded.last_used_at)`,
    )
  },
})

/** What an event adds to its day; null if it is neither a charge nor a refund. */
function dayOf(companyId: CompanyId, fact: LedgerEvent): ChargeDayRow | null {
  if (fact.type !== "Charged" && fact.type !== "ChargeReduced") return null
  const { item, class: charged, personId, keyId, amountMicros } = fact
  const isCharge = fact.type === "Charged"
  return {
    company_id: companyId,
    item,
    class: charged,
    day: dayNameOf(isCharge ? countedAtOf(fact) : fact.countedAt),
    person_id: personId ?? "",
    key_id: keyId ?? "",
    charged_micros: isCharge ? amountMicros : 0,
    given_back_micros: isCharge ? 0 : amountMicros,
    charges: isCharge ? 1 : 0,
  }
}

/** When a charge was counted: API calls on their own day, before the night of their charge. */
function countedAtOf({
  isAlreadyCounted,
  servedFrom,
  at,
}: Extract<LedgerEvent, { type: "Charged" }>): number {
  return isAlreadyCounted ? (servedFrom ?? at) : at
}

function addTo(days: Map<string, ChargeDayRow>, row: ChargeDayRow): void {
  const { company_id, day, item, class: charged, person_id, key_id } = row
  const key = JSON.stringify([company_id, day, item, charged, person_id, key_id])
  const former = days.get(key)
  days.set(key, {
    ...row,
    charged_micros: row.charged_micros + (former?.charged_micros ?? 0),
    given_back_micros: row.given_back_micros + (former?.given_back_micros ?? 0),
    charges: row.charges + (former?.charges ?? 0),
  })
}

/** The uses of keys in an event. A charge of API calls has none, because the calls were counted before. */
function usesIn(company_id: CompanyId, fact: LedgerEvent): readonly KeyUseRow[] {
  if (fact.type === "Charged") {
    const { keyId: key_id, isAlreadyCounted, at } = fact
    return key_id === null || isAlreadyCounted
      ? []
      : [{ company_id, key_id, last_used_at: new Date(at) }]
  }
  if (fact.type !== "ApiCallsCounted") return []
  // Calls of an evening may be counted after midnight.
  const last_used_at = new Date(Math.min(fact.at, dayStart(fact.day) + DAY_MS - 1))
  return fact.counters.map(({ keyId: key_id }) => ({ company_id, key_id, last_used_at }))
}

const dayNameOf = (at: number): string => new Date(at).toISOString().slice(0, 10)

/** Selects days; a null field selects everything. */
type ChargeDaysQuery = Pick<ChargesQuery, "companyId" | "keyId" | "personId" | "item"> & {
  readonly class: SpendingClass | null
  /** `YYYY-MM`. */
  readonly month: string
}

export interface ChargeDay {
  readonly day: string
  readonly item: string
  readonly chargedMicros: Micros
  readonly refundedMicros: Micros
  readonly charges: number
}

/** Lists the charges of a month by day and item. */
export async function listChargeDays(
  db: Kysely<ChargeDayTables>,
  { companyId, month, keyId, personId, item, class: charged }: ChargeDaysQuery,
): Promise<readonly ChargeDay[]> {
  let rows = db
    .selectFrom("charge_days")
    .select(["day", "item"])
    .select([
      sql<Micros>`sum(charged_micros)::bigint`.as("chargedMicros"),
      sql<Micros>`sum(given_back_micros)::bigint`.as("refundedMicros"),
      sql<number>`sum(charges)::bigint`.as("charges"),
    ])
    .where("company_id", "=", companyId)
    .where("day", ">=", `${month}-01`)
    .where("day", "<=", `${month}-31`)
  if (keyId !== null) rows = rows.where("key_id", "=", keyId)
  if (personId !== null) rows = rows.where("person_id", "=", personId)
  if (item !== null) rows = rows.where("item", "=", item)
  if (charged !== null) rows = rows.where("class", "=", charged)
  return rows.groupBy(["day", "item"]).orderBy("day").orderBy("item").execute()
}

/** Whether a company was ever charged for an item of exactly this name. */
export async function wasItemCharged(
  db: Kysely<ChargeDayTables>,
  companyId: CompanyId,
  item: string,
): Promise<boolean> {
  const row = await db
    .selectFrom("charge_days")
    .select("day")
    .where("company_id", "=", companyId)
    .where("item", "=", item)
    .limit(1)
    .executeTakeFirst()
  return row !== undefined
}

/** Lists the items that a company was charged for, up to `limit`. */
export async function listChargedItems(
  db: Kysely<ChargeDayTables>,
  companyId: CompanyId,
  limit: number,
): Promise<readonly string[]> {
  const rows = await db
    .selectFrom("charge_days")
    .select("item")
    .distinct()
    .where("company_id", "=", companyId)
    .orderBy("item")
    .limit(limit)
    .execute()
  return rows.map(({ item }) => item)
}
