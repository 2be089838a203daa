/** The table `spending` of the read model `limits`: what a batch of facts adds to its sums. */
import type { QueryExecutorProvider } from "kysely"
import { sql } from "kysely"
import type { LedgerEvent } from "../../domain/charging/ledger-formats.ts"
import type { Holder, SpendingClass } from "../../domain/charging/limits.ts"
import type { CompanyId, KeyId, PersonId } from "../../domain/kernel/ids.ts"
import type { Micros } from "../../domain/kernel/money.ts"
import type { Period } from "../../domain/kernel/window.ts"
import { PERIODS, windowsAt } from "../../domain/kernel/window.ts"
import type { RowOf, RowsOf } from "../kernel/table.ts"
import { bigint, flag, text, table } from "../kernel/table.ts"

/** The table `spending`. */
export const SPENDING = table(
  "spending",
  {
    company_id: text<CompanyId>(),
    holder: text<Holder>(),
    holder_id: text<PersonId | KeyId | "">(),
    class: text<SpendingClass | "all">(),
    /** True for a person's spending without their own keys. */
    keys_out: flag(),
    period: text<Period>(),
    /** UTC milliseconds. */
    window_start: bigint(),
    spent_micros: bigint<Micros>(),
  },
  ["company_id", "holder", "holder_id", "class", "keys_out", "period"],
)

/** The table, as queries are typed. */
export type SpendingTables = RowsOf<typeof SPENDING>

declare module "../kernel/table.ts" {
  interface ReadTables extends RowsOf<typeof SPENDING> {}
}

/** What was spent in the newest window that had any spending. */
export type SpendingRow = RowOf<typeof SPENDING>

/** Something that weighs: who spent it, how much, and at what time. */
interface Spending {
  readonly tallies: readonly Tally[]
  readonly at: number
  readonly micros: Micros
}

/** What a fact adds to the sums. A charge of calls adds nothing: they weighed when counted. */
export function spendingOf(fact: LedgerEvent): readonly Spending[] {
  switch (fact.type) {
    case "Charged":
      if (fact.isAlreadyCounted) return []
      return [{ tallies: talliesOf(fact), at: fact.at, micros: fact.amountMicros }]
    case "ChargeReduced":
      return [{ tallies: talliesOf(fact), at: fact.countedAt, micros: -fact.amountMicros }]
    case "ApiCallsCounted":
      return fact.counters.map((tally) => ({
        tallies: talliesOf({ ...tally, class: "general" }),
        at: fact.day,
        micros: tally.calls * fact.unitPriceMicros,
      }))
    default:
      return []
  }
}

type Tally = Pick<SpendingRow, "holder" | "holder_id" | "class" | "keys_out">

/** The tallies that spending belongs to: the same rule as in the ledger (domain/charging/limits.ts). */
function talliesOf(spent: {
  readonly via: string
  readonly keyId: KeyId | null
  readonly personId: PersonId | null
  readonly class: SpendingClass
}): readonly Tally[] {
  const { via, keyId, personId, class: charged } = spent
  const tallies: Tally[] = [{ holder: "company", holder_id: "", class: charged, keys_out: false }]
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
  { tallies, at: spentAt, micros }: Spending,
): void {
  const windows = windowsAt(factAt)
  for (const tally of tallies) {
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
  await SPENDING.insert(
    tx,
    rows,
    sql`on conflict (company_id, holder, holder_id, class, keys_out, period) do update
      set spent_micros = excluded.spent_micros
            + case when spending.window_start = excluded.window_start
                   then spending.spent_micros else 0 end,
          window_start = excluded.window_start`,
  )
}
