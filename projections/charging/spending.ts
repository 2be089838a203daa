/** The table `spending` of the read model `limits`: what a batch of facts adds to its sums. */
import type { QueryExecutorProvider } from "kysely"
import { sql } from "kysely"
import type { LedgerEvent } from "../../domain/charging/ledger-events.ts"
import type { LimitHolder, SpendingClass } from "../../domain/charging/limits.ts"
import type { CompanyId, KeyId, PersonId } from "../../domain/kernel/ids.ts"
import type { Micros } from "../../domain/kernel/money.ts"
import type { Period } from "../../domain/kernel/window.ts"
import { PERIODS, windowsAt } from "../../domain/kernel/window.ts"
import type { RowOf, RowsOf } from "../kernel/table.ts"
import { bigintColumn, booleanColumn, textColumn, defineTable } from "../kernel/table.ts"

/** The table `spending`. */
export const SPENDING_TABLE = defineTable(
  "spending",
  {
    company_id: textColumn<CompanyId>(),
    holder: textColumn<LimitHolder>(),
    holder_id: textColumn<PersonId | KeyId | "">(),
    class: textColumn<SpendingClass | "all">(),
    /** True for a person's spending without their own keys. */
    keys_out: booleanColumn(),
    period: textColumn<Period>(),
    /** UTC milliseconds. */
    window_start: bigintColumn(),
    spent_micros: bigintColumn<Micros>(),
  },
  ["company_id", "holder", "holder_id", "class", "keys_out", "period"],
)

/** The table, as queries are typed. */
export type SpendingTables = RowsOf<typeof SPENDING_TABLE>

declare module "../kernel/table.ts" {
  interface ReadModelTables extends RowsOf<typeof SPENDING_TABLE> {}
}

/** What was spent in the newest window that had any spending. */
export type SpendingRow = RowOf<typeof SPENDING_TABLE>

/** Something that weighs: who spent it, how much, and at what time. */
interface Spending {
  readonly counters: readonly SpendingCounter[]
  readonly at: number
  readonly micros: Micros
}

/** What a fact adds to the sums. A charge of calls adds nothing: they weighed when counted. */
export function spendingIn(fact: LedgerEvent): readonly Spending[] {
  switch (fact.type) {
    case "Charged":
      if (fact.isAlreadyCounted) return []
      return [{ counters: countersOf(fact), at: fact.at, micros: fact.amountMicros }]
    case "ChargeReduced":
      return [{ counters: countersOf(fact), at: fact.countedAt, micros: -fact.amountMicros }]
    case "ApiCallsCounted":
      return fact.counters.map((tally) => ({
        counters: countersOf({ ...tally, class: "general" }),
        at: fact.day,
        micros: tally.calls * fact.unitPriceMicros,
      }))
    default:
      return []
  }
}

type SpendingCounter = Pick<SpendingRow, "holder" | "holder_id" | "class" | "keys_out">

/** The tallies that spending belongs to: the same rule as in the ledger (domain/charging/limits.ts). */
function countersOf(spent: {
  readonly via: string
  readonly keyId: KeyId | null
  readonly personId: PersonId | null
  readonly class: SpendingClass
}): readonly SpendingCounter[] {
  const { via, keyId, personId, class: charged } = spent
  const tallies: SpendingCounter[] = [
    { holder: "company", holder_id: "", class: charged, keys_out: false },
  ]
  if (keyId !== null) {
    tallies.push({ holder: "key", holder_id: keyId, class: "all", keys_out: false })
  }
  if (personId !== null) {
    const person = { holder: "person" as const, holder_id: personId, class: charged }
    tallies.push({ ...person, keys_out: false })
    if (via !== "own_key") tallies.push({ ...person, keys_out: true })
  }
  return tallies
}

/** A row whose sum grows with each fact of a batch. */
export type SpendingSum = SpendingRow & { spent_micros: Micros }

/** Adds what was spent to each window of its time that is still the current one at the fact's. */
export function addSpending(
  sums: Map<string, SpendingSum>,
  company: CompanyId,
  factAt: number,
  { counters, at: spentAt, micros }: Spending,
): void {
  const windows = windowsAt(factAt)
  for (const tally of counters) {
    const { holder, holder_id, class: limited, keys_out } = tally
    const name = `${company} ${holder} ${holder_id} ${limited} ${keys_out}`
    for (const period of PERIODS) {
      if (spentAt < windows[period]) continue
      const place = `${name} ${period}`
      const former = sums.get(place)
      if (former?.window_start === windows[period]) {
        former.spent_micros += micros
        continue
      }
      const window_start = windows[period]
      sums.set(place, { company_id: company, ...tally, period, window_start, spent_micros: micros })
    }
  }
}

/** Adds the sums of a batch to those that are kept, or puts them in their place where a new window began. */
export async function writeSpending(
  tx: QueryExecutorProvider,
  rows: readonly SpendingRow[],
): Promise<void> {
  await SPENDING_TABLE.insert(
    tx,
    rows,
    sql`on conflict (company_id, holder, holder_id, class, keys_out, period) do update
      set spent_micros = excluded.spent_micros
            + case when spending.window_start = excluded.window_start
                   then spending.spent_micros else 0 end,
          window_start = excluded.window_start`,
  )
}
