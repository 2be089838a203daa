/**
 * Read model `limits`: the limits that are set, and what was spent per holder, class and window.
 * Spending is summed whether or not a limit stands there, as in the ledger.
 */
import type { Kysely, Transaction } from "kysely"
import { sql } from "kysely"
import type { Charged, ChargeGivenBack, LimitSet } from "../domain/charging/ledger-events.ts"
import type { Holder, LimitReading, SpendingClass } from "../domain/charging/limits.ts"
import type { CompanyId } from "../domain/kernel/ids.ts"
import type { Micros } from "../domain/kernel/money.ts"
import type { Period } from "../domain/kernel/window.ts"
import { PERIODS, windowEnd, windowsAt } from "../domain/kernel/window.ts"
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
  version: 1,
  categories: ["ledger"],
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
    const spent = new Map<string, SpendingRow>()
    for (const { fact, companyId } of facts) {
      const company = companyId ?? ""
      if (fact.type === "LimitSet") await setLimit(tx, company, fact)
      if (fact.type === "LimitRemoved") {
        await tx
          .deleteFrom("limits")
          .where("company_id", "=", company)
          .where("holder", "=", fact.holder)
          .where("holder_id", "=", fact.holderId ?? "")
          .where("class", "=", fact.class)
          .execute()
      }
      if (fact.type === "Charged") addSpending(spent, company, fact, fact.at, fact.amountMicros)
      if (fact.type === "ChargeGivenBack") {
        addSpending(spent, company, fact, fact.chargedAt, -fact.amountMicros)
      }
    }
    if (spent.size > 0) await writeSpending(tx, [...spent.values()])
  },
}

async function setLimit(tx: Transaction<Tables>, company: string, fact: LimitSet): Promise<void> {
  const row = {
    company_id: company,
    holder: fact.holder,
    holder_id: fact.holderId ?? "",
    class: fact.class,
    period: fact.period,
    amount_micros: fact.amountMicros,
    reminders_micros: fact.remindersMicros.map(String),
    leave_keys_out: fact.leaveKeysOut,
  }
  await tx
    .insertInto("limits")
    .values(row)
    .onConflict((conflict) =>
      conflict.columns(["company_id", "holder", "holder_id", "class"]).doUpdateSet(row),
    )
    .execute()
}

type Tally = Pick<SpendingRow, "holder" | "holder_id" | "class" | "keys_out">

/** The tallies a charge belongs to: the same rule as in the ledger (domain/charging/limits.ts). */
function talliesOf(fact: Charged | ChargeGivenBack): readonly Tally[] {
  const { via, keyId, personId, class: charged } = fact
  const tallies: Tally[] = [{ holder: "company", holder_id: "", class: charged, keys_out: false }]
  if (keyId !== null)
    tallies.push({ holder: "key", holder_id: keyId, class: "all", keys_out: false })
  if (personId !== null) {
    const person = { holder: "person" as const, holder_id: personId, class: charged }
    tallies.push({ ...person, keys_out: false })
    if (via !== "own_key") tallies.push({ ...person, keys_out: true })
  }
  return tallies
}

/** Adds an amount spent at `spentAt` where its window is the current one at the fact's time. */
function addSpending(
  spent: Map<string, SpendingRow>,
  company: string,
  fact: Charged | ChargeGivenBack,
  spentAt: number,
  amount: Micros,
): void {
  const windows = windowsAt(fact.at)
  for (const tally of talliesOf(fact)) {
    for (const period of PERIODS) {
      if (spentAt < windows[period]) continue
      const place = JSON.stringify([company, tally, period])
      const former = spent.get(place)
      const same = former?.window_start === windows[period]
      spent.set(place, {
        company_id: company,
        ...tally,
        period,
        window_start: windows[period],
        spent_micros: (same ? former.spent_micros : 0) + amount,
      })
    }
  }
}

async function writeSpending(tx: Transaction<Tables>, rows: readonly SpendingRow[]): Promise<void> {
  await sql`
    insert into spending
    select * from unnest(
      ${rows.map((row) => row.company_id)}::text[],
      ${rows.map((row) => row.holder)}::text[],
      ${rows.map((row) => row.holder_id)}::text[],
      ${rows.map((row) => row.class)}::text[],
      ${rows.map((row) => row.keys_out)}::boolean[],
      ${rows.map((row) => row.period)}::text[],
      ${rows.map((row) => row.window_start)}::bigint[],
      ${rows.map((row) => row.spent_micros)}::bigint[])
    on conflict (company_id, holder, holder_id, class, keys_out, period) do update
    set spent_micros = excluded.spent_micros
          + case when spending.window_start = excluded.window_start
                 then spending.spent_micros else 0 end,
        window_start = excluded.window_start`.execute(tx)
}

/** A limit with what is used of it in the windows around an instant. */
export type LimitStanding = Omit<LimitReading, "askedMicros" | "pendingMicros"> & {
  readonly leaveKeysOut: boolean
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
    }
  })
}
