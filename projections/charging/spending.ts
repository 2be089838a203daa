/** The table `spending` of the read model `limits`: sums of spending per counter and window. */
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
    window_start: bigintColumn(),
    spent_micros: bigintColumn<Micros>(),
  },
  ["company_id", "holder", "holder_id", "class", "keys_out", "period"],
)

/** The table's rows by table name, for queries. */
export type SpendingTables = RowsOf<typeof SPENDING_TABLE>

declare module "../kernel/table.ts" {
  interface ReadModelTables extends RowsOf<typeof SPENDING_TABLE> {}
}

/** The sum of the newest window that has any spending. */
export type SpendingRow = RowOf<typeof SPENDING_TABLE>

/** An amount that counts, the counters of its spender, and its time. */
interface Spending {
  readonly counters: readonly SpendingCounter[]
  readonly at: number
  readonly micros: Micros
}

/** Returns what an event adds to the sums. A charge of API calls adds nothing: they were counted before. */
export function spendingIn(fact: LedgerEvent): readonly Spending[] {
  switch (fact.type) {
    case "Charged":
      if (fact.isAlreadyCounted) return []
      return [{ counters: countersOf(fact), at: fact.at, micros: fact.amountMicros }]
    case "ChargeReduced":
      return [{ counters: countersOf(fact), at: fact.countedAt, micros: -fact.amountMicros }]
    case "ApiCallsCounted":
      return fact.counters.map((counter) => ({
        counters: countersOf({ ...counter, class: "general" }),
        at: fact.day,
        micros: counter.calls * fact.unitPriceMicros,
      }))
    default:
      return []
  }
}

type SpendingCounter = Pick<SpendingRow, "holder" | "holder_id" | "class" | "keys_out">

/** The counters of a spender, by the same rule as in the ledger (domain/charging/limits.ts). */
function countersOf(spent: {
  readonly via: string
  readonly keyId: KeyId | null
  readonly personId: PersonId | null
  readonly class: SpendingClass
}): readonly SpendingCounter[] {
  const { via, keyId, personId, class: charged } = spent
  const counters: SpendingCounter[] = [
    { holder: "company", holder_id: "", class: charged, keys_out: false },
  ]
  if (keyId !== null) {
    counters.push({ holder: "key", holder_id: keyId, class: "all", keys_out: false })
  }
  if (personId !== null) {
    const person = { holder: "person" as const, holder_id: personId, class: charged }
    counters.push({ ...person, keys_out: false })
    if (via !== "own_key") counters.push({ ...person, keys_out: true })
  }
  return counters
}

/** A row whose sum grows with the events of a batch. */
export type SpendingSum = SpendingRow & { spent_micros: Micros }

/** Adds an amount to each window that is current at the event's time and contains the amount's time. */
export function addSpending(
  sums: Map<string, SpendingSum>,
  company: CompanyId,
  factAt: number,
  { counters, at: spentAt, micros }: Spending,
): void {
  const windows = windowsAt(factAt)
  for (const counter of counters) {
    const { holder, holder_id, class: limited, keys_out } = counter
    const name = `${company} ${holder} ${holder_id} ${limited} ${keys_out}`
    for (const period of PERIODS) {
      if (spentAt < windows[period]) continue
      const key = `${name} ${period}`
      const former = sums.get(key)
      if (former?.window_start === windows[period]) {
        former.spent_micros += micros
        continue
      }
      const window_start = windows[period]
      sums.set(key, { company_id: company, ...counter, period, window_start, spent_micros: micros })
    }
  }
}

/** Adds the sums of a batch to the stored ones, or replaces those of earlier windows. */
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
