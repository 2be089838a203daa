/**
 * Read model `limits`: the limits that are set, and what was spent per holder, class and window.
 * Spending is summed whether or not a limit stands there, as in the ledger.
 */
import type { Kysely, QueryExecutorProvider, Transaction } from "kysely"
import { sql } from "kysely"
import type { LedgerEvent, LimitRemoved, LimitSet } from "../domain/charging/ledger-events.ts"
import type { Holder, LimitReading, SpendingClass } from "../domain/charging/limits.ts"
import type { CompanyId } from "../domain/kernel/ids.ts"
import type { Micros } from "../domain/kernel/money.ts"
import type { Period } from "../domain/kernel/window.ts"
import { PERIODS, windowEnd, windowsAt } from "../domain/kernel/window.ts"
import type { Columns } from "./columns.ts"
import { insertRows, unnested } from "./columns.ts"
import type { Projection } from "./projection.ts"

/** A limit that is set. `holder_id` is empty for the company's own. */
export interface LimitRow {
  readonly company_id: string
  readonly holder: Holder
  readonly holder_id: string
  readonly class: SpendingClass | "all"
  readonly period: Period
  readonly amount_micros: Micros
  readonly reminders_micros: readonly string[]
  readonly leave_keys_out: boolean
}

/** What was spent in the newest window that had any spending. */
export interface SpendingRow {
  readonly company_id: string
  readonly holder: Holder
  readonly holder_id: string
  readonly class: SpendingClass | "all"
  /** True for a person's spending without their own keys. */
  readonly keys_out: boolean
  readonly period: Period
  /** UTC milliseconds. */
  readonly window_start: number
  readonly spent_micros: Micros
}

interface Tables {
  limits: LimitRow
  spending: SpendingRow
}

/** The read model. */
export const limits: Projection = {
  name: "limits",
  version: 2,
  categories: ["ledger"],
  ignores: ["ChargesClosed"],
  tables: ["limits", "spending"],
  create: `
    create table limits (
      company_id text not null,
      holder text not null,
      holder_id text not null,
      class text not null,
      period text not null,
      amount_micros bigint not null,
      reminders_micros bigint[] not null,
      leave_keys_out boolean not null,
      primary key (company_id, holder, holder_id, class)
    );
    create table spending (
      company_id text not null,
      holder text not null,
      holder_id text not null,
      class text not null,
      keys_out boolean not null,
      period text not null,
      window_start bigint not null,
      spent_micros bigint not null,
      primary key (company_id, holder, holder_id, class, keys_out, period)
    )`,
  apply: async (tx: Transaction<Tables>, facts) => {
    const changed = new Map<string, LimitChange>()
    const spent = new Map<string, SpendingSum>()
    for (const { fact, companyId } of facts) {
      const company = companyId ?? ""
      if (fact.type === "LimitSet" || fact.type === "LimitRemoved") {
        const change = limitChange(company, fact)
        changed.set(`${company} ${change.holder} ${change.holder_id} ${change.class}`, change)
        continue
      }
      for (const spending of spendingOf(fact as LedgerEvent)) {
        addSpending(spent, company, fact.at, spending)
      }
    }
    await writeLimits(tx, [...changed.values()])
    await writeSpending(tx, [...spent.values()])
  },
}

/** A limit as it is from now on; without a period where it is gone. */
type LimitChange = Omit<LimitRow, "reminders_micros" | "period"> & {
  readonly period: Period | null
  /** As PostgreSQL writes an array: a column of arrays cannot be an array itself. */
  readonly reminders_micros: string
}

const LIMIT_COLUMNS: Columns<LimitChange> = {
  company_id: "text",
  holder: "text",
  holder_id: "text",
  class: "text",
  period: "text",
  amount_micros: "bigint",
  reminders_micros: "text",
  leave_keys_out: "boolean",
}

function limitChange(company_id: string, fact: LimitSet | LimitRemoved): LimitChange {
  const { holder, holderId, class: limited } = fact
  const name = { company_id, holder, holder_id: holderId ?? "", class: limited }
  if (fact.type === "LimitRemoved") {
    const nothing = { amount_micros: 0, reminders_micros: "{}", leave_keys_out: false }
    return { ...name, period: null, ...nothing }
  }
  return {
    ...name,
    period: fact.period,
    amount_micros: fact.amountMicros,
    reminders_micros: `{${fact.remindersMicros.join(",")}}`,
    leave_keys_out: fact.leaveKeysOut,
  }
}

/** All limits that a batch names are taken out, and those that still stand put in. */
async function writeLimits(
  tx: QueryExecutorProvider,
  changes: readonly LimitChange[],
): Promise<void> {
  if (changes.length === 0) return
  const names = sql.join(Object.keys(LIMIT_COLUMNS).map((name) => sql.id(name)))
  await sql`
    delete from limits using ${unnested(LIMIT_COLUMNS, changes)} as change (${names})
    where limits.company_id = change.company_id and limits.holder = change.holder
      and limits.holder_id = change.holder_id and limits.class = change.class`.execute(tx)
  await sql`
    insert into limits (${names})
    select company_id, holder, holder_id, class, period, amount_micros,
           reminders_micros::bigint[], leave_keys_out
    from ${unnested(LIMIT_COLUMNS, changes)} as change (${names})
    where period is not null`.execute(tx)
}

/** Something that weighs: who spent it, how much, and at what time. */
interface Spending {
  readonly tallies: readonly Tally[]
  readonly at: number
  readonly micros: Micros
}

/** What a fact adds to the sums. A charge of calls adds nothing: they weighed when counted. */
function spendingOf(fact: LedgerEvent): readonly Spending[] {
  switch (fact.type) {
    case "Charged":
      if (fact.weighed) return []
      return [{ tallies: talliesOf(fact), at: fact.at, micros: fact.amountMicros }]
    case "ChargeGivenBack":
      return [{ tallies: talliesOf(fact), at: fact.chargedAt, micros: -fact.amountMicros }]
    case "ApiCallsCounted":
      return fact.tallies.map((tally) => ({
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
  readonly keyId: string | null
  readonly personId: string | null
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
type SpendingSum = SpendingRow & { spent_micros: Micros }

/** Adds what was spent to each window of its time that is still the current one at the fact's. */
function addSpending(
  sums: Map<string, SpendingSum>,
  company: string,
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

const SPENDING_COLUMNS: Columns<SpendingRow> = {
  company_id: "text",
  holder: "text",
  holder_id: "text",
  class: "text",
  keys_out: "boolean",
  period: "text",
  window_start: "bigint",
  spent_micros: "bigint",
}

async function writeSpending(
  tx: QueryExecutorProvider,
  rows: readonly SpendingRow[],
): Promise<void> {
  await insertRows(
    tx,
    "spending",
    SPENDING_COLUMNS,
    rows,
    sql`on conflict (company_id, holder, holder_id, class, keys_out, period) do update
      set spent_micros = excluded.spent_micros
            + case when spending.window_start = excluded.window_start
                   then spending.spent_micros else 0 end,
          window_start = excluded.window_start`,
  )
}

/** A limit with what is used of it in the windows around an instant. */
export type LimitStanding = Omit<LimitReading, "askedMicros" | "pendingMicros"> & {
  readonly leaveKeysOut: boolean
  readonly remindersMicros: readonly Micros[]
}

/** Every limit of a company as it stands at `at` (UTC milliseconds): company, people, keys. */
export async function limitStandings(
  db: Kysely<Tables>,
  companyId: CompanyId,
  at: number,
): Promise<readonly LimitStanding[]> {
  const rows = await db
    .selectFrom("limits")
    .leftJoin("spending", (join) =>
      join
        .onRef("spending.company_id", "=", "limits.company_id")
        .onRef("spending.holder", "=", "limits.holder")
        .onRef("spending.holder_id", "=", "limits.holder_id")
        .onRef("spending.class", "=", "limits.class")
        .onRef("spending.keys_out", "=", "limits.leave_keys_out")
        .onRef("spending.period", "=", "limits.period"),
    )
    .selectAll("limits")
    .select(["spending.window_start", "spending.spent_micros"])
    .where("limits.company_id", "=", companyId)
    .orderBy(sql`array_position(array['company', 'person', 'key'], limits.holder)`)
    .orderBy("limits.holder_id")
    .orderBy("limits.class")
    .execute()
  const windows = windowsAt(at)
  return rows.map((row) => {
    const isCurrent = row.window_start === windows[row.period]
    const usedMicros = isCurrent ? (row.spent_micros ?? 0) : 0
    return {
      holder: row.holder,
      holderId: row.holder_id === "" ? null : row.holder_id,
      class: row.class,
      period: row.period,
      amountMicros: row.amount_micros,
      usedMicros,
      remainingMicros: Math.max(0, row.amount_micros - usedMicros),
      windowStart: windows[row.period],
      resetsAt: windowEnd(windows, row.period),
      leaveKeysOut: row.leave_keys_out,
      remindersMicros: row.reminders_micros.map(Number),
    }
  })
}
