/**
 * Read model `refusals`: every refusal that is stored in full, with its evidence and the number of further ones
 * like it.
 */
import type { Kysely, Transaction } from "kysely"
import { sql } from "kysely"
import type { ChargeRefusalCode } from "../../domain/charging/ledger-events.ts"
import { refusalKindOf } from "../../domain/charging/refusals.ts"
import type { ChargeId, CompanyId, KeyId, PersonId } from "../../domain/kernel/ids.ts"
import type { Micros } from "../../domain/kernel/money.ts"
import { unnestRows } from "../kernel/columns.ts"
import type { CompanyFact } from "../kernel/projection.ts"
import { companyFacts, companyFactsOfType, defineReadModel } from "../kernel/projection.ts"
import type { RowOf, RowsOf } from "../kernel/table.ts"
import {
  bigintColumn,
  instantColumn,
  integerColumn,
  nullableColumn,
  textColumn,
  tablesOf,
  defineTable,
} from "../kernel/table.ts"

const REFUSALS = defineTable(
  "refusals",
  {
    company_id: textColumn<CompanyId>(),
    revision: bigintColumn(),
    /** What it has in common with the refusals that were only counted. */
    kind: textColumn(),
    at: instantColumn(),
    code: textColumn<ChargeRefusalCode>(),
    charge_id: textColumn(),
    via: textColumn(),
    key_id: nullableColumn(textColumn<KeyId>()),
    person_id: nullableColumn(textColumn<PersonId>()),
    class: textColumn(),
    item: textColumn(),
    quantity: bigintColumn(),
    amount_micros: bigintColumn<Micros>(),
    resource: nullableColumn(textColumn()),
    /** Revision of the last ledger event that the decision knew. */
    ledger_revision: bigintColumn(),
    funds_micros: bigintColumn<Micros>(),
    credit_line_micros: bigintColumn<Micros>(),
    /** The limits that applied, as JSON, and the index of the one that refused. */
    limits: textColumn(),
    refusing_limit: nullableColumn(integerColumn()),
    /** The number of further refusals, and the minute of the last; null if there were none. */
    more: bigintColumn(),
    last_at: nullableColumn(instantColumn()),
  },
  ["company_id", "revision"],
  "(company_id, kind, revision)",
  "(charge_id)",
  "(company_id, key_id, revision)",
)

export type RefusalRow = RowOf<typeof REFUSALS>

export type RefusalTables = RowsOf<typeof REFUSALS>

declare module "../kernel/table.ts" {
  interface ReadModelTables extends RowsOf<typeof REFUSALS> {}
}

/** The read model `refusals`. */
export const refusalsReadModel = defineReadModel({
  name: "refusals",
  version: 1,
  on: ["ChargeRefused", "RefusalsCounted"],
  ...tablesOf(REFUSALS),
  apply: async (tx: Transaction<RefusalTables>, facts) => {
    const rows = companyFactsOfType(facts, "ChargeRefused").map(({ companyId, revision, fact }) => {
      const [kind, limits] = [refusalKindOf(fact), JSON.stringify(fact.limits)]
      return REFUSALS.rowOf({ ...fact, companyId, revision, kind, limits, more: 0 })
    })
    await REFUSALS.insert(tx, rows)
    const counts = companyFacts(facts).flatMap(countsOf)
    if (counts.length > 0) await addCounts(tx, counts)
  },
})

interface RefusalCount {
  readonly company_id: CompanyId
  readonly revision: number
  readonly kind: string
  readonly count: number
  readonly minute: Date
}

function countsOf({ fact, companyId: company_id, revision }: CompanyFact): readonly RefusalCount[] {
  if (fact.type !== "RefusalsCounted") return []
  return fact.counters.map(({ kind, count, minute }) => ({
    company_id,
    revision,
    kind,
    count,
    minute: new Date(minute),
  }))
}

/** Adds counts to the newest earlier refusal of their kind. */
async function addCounts(
  tx: Transaction<RefusalTables>,
  counts: readonly RefusalCount[],
): Promise<void> {
  const counted = unnestRows<RefusalCount>(
    {
      company_id: "text",
      revision: "bigint",
      kind: "text",
      count: "bigint",
      minute: "timestamptz",
    },
    counts,
    "further",
  )
  await sql`
    update refusals
    set more = refusals.more + counted.more,
        last_at = greatest(refusals.last_at, counted.last_at)
    from (
      select line.company_id, line.revision, sum(count)::bigint as more, max(minute) as last_at
      from ${counted}
      cross join lateral (
        select company_id, revision from refusals
        where refusals.company_id = further.company_id and refusals.kind = further.kind
          and refusals.revision < further.revision
        order by refusals.revision desc limit 1
      ) as line
      group by line.company_id, line.revision
    ) as counted
    where refusals.company_id = counted.company_id and refusals.revision = counted.revision`.execute(
    tx,
  )
}

export interface RefusalQuery {
  readonly companyId: CompanyId
  /** Null for every key. */
  readonly keyId: KeyId | null
  /** Only refusals before this revision; null for the newest. */
  readonly before: number | null
  readonly limit: number
}

/** Lists the refusals of a company, newest first. */
export async function listRefusals(
  db: Kysely<RefusalTables>,
  { companyId, keyId, before, limit }: RefusalQuery,
): Promise<readonly RefusalRow[]> {
  let query = db.selectFrom("refusals").selectAll().where("company_id", "=", companyId)
  if (keyId !== null) query = query.where("key_id", "=", keyId)
  if (before !== null) query = query.where("revision", "<", before)
  return query.orderBy("revision", "desc").limit(limit).execute()
}

/** Returns the first two companies that have a refusal of a charge with this id. */
export async function companiesOfRefusal(
  db: Kysely<RefusalTables>,
  chargeId: ChargeId,
): Promise<readonly CompanyId[]> {
  const rows = await db
    .selectFrom("refusals")
    .select("company_id")
    .distinct()
    .where("charge_id", "=", chargeId)
    .limit(2)
    .execute()
  return rows.map((row) => row.company_id)
}
