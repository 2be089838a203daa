/** Read model `api-calls`: recorded API calls by key, person and UTC day, and whether they were charged. */
import type { Kysely, Transaction } from "kysely"
import { sql } from "kysely"
import type { CompanyId, KeyId, PersonId } from "../../domain/kernel/ids.ts"
import type { Micros } from "../../domain/kernel/money.ts"
import type { CompanyFact } from "../kernel/projection.ts"
import { companyFacts, defineReadModel } from "../kernel/projection.ts"
import type { RowOf, RowsOf } from "../kernel/table.ts"
import {
  bigintColumn,
  instantColumn,
  nullableColumn,
  textColumn,
  tablesOf,
  defineTable,
} from "../kernel/table.ts"

const API_CALLS = defineTable(
  "api_calls",
  {
    company_id: textColumn<CompanyId>(),
    /** The UTC day, `YYYY-MM-DD`. */
    day: textColumn(),
    key_id: textColumn<KeyId>(),
    /** Empty for the app key without a signed-in person. */
    person_id: textColumn<PersonId | "">(),
    calls: bigintColumn(),
    unit_price_micros: bigintColumn<Micros>(),
    /** When the day's calls were charged; null before the following night. */
    charged_at: nullableColumn(instantColumn()),
  },
  ["company_id", "day", "key_id", "person_id"],
)

/** The calls of one key and person on one day. */
export type ApiCallCounterRow = RowOf<typeof API_CALLS>

type Tables = RowsOf<typeof API_CALLS>

declare module "../kernel/table.ts" {
  interface ReadModelTables extends RowsOf<typeof API_CALLS> {}
}

/** The read model `api-calls`. */
export const apiCallsReadModel = defineReadModel({
  name: "api-calls",
  version: 1,
  on: ["Charged", "ApiCallsCounted"],
  ...tablesOf(API_CALLS),
  apply: async (tx: Transaction<Tables>, facts) => {
    const recorded = companyFacts(facts)
    const counted = new Map<string, ApiCallCounterRow>()
    for (const row of recorded.flatMap(countedBy)) {
      const key = `${row.company_id} ${row.day} ${row.key_id} ${row.person_id}`
      counted.set(key, { ...row, calls: row.calls + (counted.get(key)?.calls ?? 0) })
    }
    await API_CALLS.insert(
      tx,
      [...counted.values()],
      sql`on conflict (company_id, day, key_id, person_id) do update
        set calls = api_calls.calls + excluded.calls,
            unit_price_micros = excluded.unit_price_micros`,
    )
    // No calls are counted for a day that was charged, so charges can be applied last.
    const charged = recorded.map(chargedBy).filter((row) => row !== null)
    await API_CALLS.update(tx, ["charged_at"], charged)
  },
})

function countedBy({ fact, companyId }: CompanyFact): readonly ApiCallCounterRow[] {
  if (fact.type !== "ApiCallsCounted") return []
  return fact.counters.map(({ keyId, personId, calls }) => ({
    company_id: companyId,
    day: dayName(fact.day),
    key_id: keyId,
    person_id: personId ?? "",
    calls,
    unit_price_micros: fact.unitPriceMicros,
    charged_at: null,
  }))
}

type ChargedCounter = Pick<
  ApiCallCounterRow,
  "company_id" | "day" | "key_id" | "person_id" | "charged_at"
>

function chargedBy({ fact, companyId }: CompanyFact): ChargedCounter | null {
  if (fact.type !== "Charged" || !fact.isAlreadyCounted) return null
  const { keyId, servedFrom } = fact
  // The charge of API calls always has a key and a day.
  if (keyId === null || servedFrom === null) return null
  return {
    company_id: companyId,
    day: dayName(servedFrom),
    key_id: keyId,
    person_id: fact.personId ?? "",
    charged_at: new Date(fact.at),
  }
}

function dayName(day: number): string {
  return new Date(day).toISOString().slice(0, 10)
}

/** Lists a company's counters, newest day first; of one UTC day (`YYYY-MM-DD`) or of all. */
export async function listApiCallCounters(
  db: Kysely<Tables>,
  companyId: CompanyId,
  day: string | null,
): Promise<readonly ApiCallCounterRow[]> {
  const counters = db.selectFrom("api_calls").selectAll().where("company_id", "=", companyId)
  return (day === null ? counters : counters.where("day", "=", day))
    .orderBy("day", "desc")
    .orderBy("key_id")
    .orderBy("person_id")
    .execute()
}
