/** A company's state from its ledger and facts, and the same state from the read models. */
import { sql } from "kysely"
import type { LedgerEvent } from "../../domain/charging/ledger-events.ts"
import type { LedgerState } from "../../domain/charging/ledger-state.ts"
import { accountOf, purchaseAllowanceOf, readLimits } from "../../domain/charging/ledger-views.ts"
import { readCounterSums } from "../../domain/charging/counter-sums.ts"
import { type SpendingWindows, PERIODS } from "../../domain/kernel/window.ts"
import type { CompanyId } from "../../domain/kernel/ids.ts"
import {
  findAccountTerms,
  fundsBalanceOf,
  listAccounts,
} from "../../projections/charging/accounts.ts"
import { listApiCallCounters } from "../../projections/charging/api-calls.ts"
import { listPendingCharges } from "../../projections/charging/charges.ts"
import { listLimitStatuses } from "../../projections/charging/limits.ts"
import { listClosedMonths } from "../../projections/charging/months.ts"
import { findPurchaseAllowance } from "../../projections/charging/purchases.ts"
import { listReminders } from "../../projections/charging/reminders.ts"
import type { Ports } from "../../src/frame/ports.ts"
import { HISTORY_KEYS } from "./ledger-steps.ts"
import { selectChargeRows } from "../../projections/charging/charges.ts"
import { chargesIn } from "./reference-charges.ts"

export type ReadModelDatabase = Ports["readAll"]

type LimitKey = {
  readonly holder: string
  readonly holderId: string | null
  readonly class: string
}
const byName = (a: LimitKey, b: LimitKey) =>
  `${a.holder} ${a.holderId} ${a.class}` < `${b.holder} ${b.holderId} ${b.class}` ? -1 : 1

/** The state and facts of the ledger, without buffered calls. */
export function expectedLedgerView(state: LedgerState, facts: readonly LedgerEvent[], at: number) {
  const { closed, locked, prepaidOnly, creditLineMicros } = accountOf(state)
  const charges = chargesIn(facts)
  return {
    limits: readLimits(state, at)
      .toSorted(byName)
      .map(({ askedMicros: _asked, unrecordedMicros, ...one }) => {
        const usedMicros = one.usedMicros - unrecordedMicros
        return { ...one, usedMicros, remainingMicros: Math.max(0, one.amountMicros - usedMicros) }
      }),
    spending: spendingOf(state),
    funds: accountOf(state).fundsMicros,
    balance: 0,
    terms: { closed, locked, prepaidOnly, creditLineMicros },
    allowances: HISTORY_KEYS.map((keyId) => purchaseAllowanceOf(state, keyId, at)),
    uncharged: [...state.apiCalls.uncharged.values()]
      .map(({ day, keyId, personId, calls, unitPriceMicros }) => {
        const name = new Date(day).toISOString().slice(0, 10)
        return `${name} ${keyId} ${personId ?? ""} ${calls} × ${unitPriceMicros}`
      })
      .toSorted(),
    charges: charges.map(({ charged, revision, state: current, refundedMicros }) => {
      return [revision, charged.chargeId, current, refundedMicros]
    }),
    open: [...state.pendingCharges.keys()].toSorted(),
    months: facts.flatMap((fact) => {
      if (fact.type !== "MonthClosed") return []
      const { type: _type, ...month } = fact
      return [month]
    }),
    bills: facts.flatMap((fact) => {
      if (fact.type !== "MonthClosed") return []
      const { addedMicros, purchasedMicros, correctedMicros, chargedMicros, reducedMicros } = fact
      const sums = [addedMicros, purchasedMicros, correctedMicros, 0 - chargedMicros]
      return [[fact.month, ...sums, reducedMicros, fact.charges]]
    }),
    reminders: facts.flatMap((fact, revision) => {
      if (fact.type !== "ReminderReached") return []
      const { type: _type, ...reminder } = fact
      return [{ revision, ...reminder }]
    }),
  }
}

/** Every nonzero counter in the windows of the last fact: holder, class, period, micros. */
function spendingOf({ counters }: LedgerState): readonly string[] {
  const rows: string[] = []
  const add = (name: string, first: number) => {
    for (const [i, micros] of readCounterSums(counters, first, 1).entries()) {
      if (micros !== 0) rows.push(`${name} ${PERIODS[i]} ${micros}`)
    }
  }
  for (const [i, named] of ["ai", "general"].entries()) {
    add(`company  ${named} false`, i)
    for (const [id, first] of counters.people) {
      add(`person ${id} ${named} false`, first + i)
      add(`person ${id} ${named} true`, first + 2 + i)
    }
  }
  for (const [id, first] of counters.keys) add(`key ${id} all false`, first)
  return rows.toSorted()
}

/** The same view from the read models; `windows` are those of the ledger's last fact. */
export async function readModelLedgerView(
  db: ReadModelDatabase,
  companyId: CompanyId,
  at: number,
  windows: SpendingWindows,
) {
  const terms = await findAccountTerms(db, companyId)
  const months = await listClosedMonths(db, companyId)
  const balances = await listAccounts(db, companyId)
  const callCounters = await listApiCallCounters(db, companyId, null)
  return {
    limits: (await listLimitStatuses(db, companyId, at))
      .toSorted(byName)
      .map(({ leaveKeysOut: _kept, remindersMicros: _reminders, ...one }) => one),
    spending: await spendingFromReadModels(db, companyId, windows),
    funds: await fundsBalanceOf(db, companyId),
    balance: balances.reduce((sum, one) => sum + one.balance_micros, 0),
    terms: {
      closed: terms?.closed,
      locked: terms?.locked,
      prepaidOnly: terms?.prepaid_only,
      creditLineMicros: terms?.prepaid_only === true ? 0 : terms?.credit_line_micros,
    },
    allowances: await Promise.all(
      HISTORY_KEYS.map(async (keyId) => findPurchaseAllowance(db, companyId, keyId, at)),
    ),
    uncharged: callCounters
      .filter((one) => one.charged_at === null)
      .map(
        (one) =>
          `${one.day} ${one.key_id} ${one.person_id} ${one.calls} × ${one.unit_price_micros}`,
      )
      .toSorted(),
    charges: await chargesFromReadModels(db, companyId),
    open: (await listPendingCharges(db, companyId)).map((one) => one.charge_id).toSorted(),
    months: months.map(({ company_id: _company, closed_at, ...one }) => ({
      at: closed_at.getTime(),
      ...camelCased(one),
    })),
    bills: await billsFromReadModels(
      db,
      companyId,
      months.map(({ month }) => month),
    ),
    reminders: (await listReminders(db, companyId, 1_000))
      .toReversed()
      .map(({ company_id: _company, at: reached_at, window_start, resets_at, ...one }) => ({
        ...camelCased(one),
        at: reached_at.getTime(),
        windowStart: window_start.getTime(),
        resetsAt: resets_at.getTime(),
      })),
  }
}

async function spendingFromReadModels(
  db: ReadModelDatabase,
  companyId: CompanyId,
  windows: SpendingWindows,
) {
  const { rows } = await sql<{ name: string }>`
    select concat_ws(' ', holder, holder_id, class, keys_out::text, period, spent_micros) as name
    from spending
    where company_id = ${companyId} and spent_micros <> 0
      and window_start = case period when 'day' then ${windows.day}::bigint
        when 'week' then ${windows.week}::bigint else ${windows.month}::bigint end`.execute(db)
  return rows.map(({ name }) => name).toSorted()
}

async function chargesFromReadModels(db: ReadModelDatabase, companyId: CompanyId) {
  const rows = await selectChargeRows(db)
    .where("company_id", "=", companyId)
    .where("charge_id", "is not", null)
    .orderBy("revision")
    .execute()
  return rows.map(({ revision, charge_id, state, given_back_micros }) => {
    return [revision, charge_id, state, given_back_micros]
  })
}

/** Each closed month's totals, calculated from its lines alone. */
async function billsFromReadModels(
  db: ReadModelDatabase,
  companyId: CompanyId,
  months: readonly string[],
) {
  const spent = sql`kind in ('charge', 'api_calls', 'rent')`
  const sumOf = (which: unknown) =>
    sql`coalesce(sum(amount_micros) filter (where ${which}), 0)::bigint`
  const { rows } = await sql<Record<string, unknown>>`
    select month, ${sumOf(sql`kind = 'funds_added'`)} as added,
      ${sumOf(sql`kind = 'purchase'`)} as purchased,
      ${sumOf(sql`kind = 'funds_corrected'`)} as corrected, ${sumOf(spent)} as charged,
      ${sumOf(sql`kind = 'give_back'`)} as given_back, count(*) filter (where ${spent}) as charges
    from unnest(${months}::text[]) as month
    left join charges on company_id = ${companyId} and to_char(at at time zone 'UTC', 'YYYY-MM') = month
    group by month order by month`.execute(db)
  return rows.map((row) => Object.values(row))
}

function camelCased(row: object): Record<string, unknown> {
  const camel = (name: string) =>
    name.replaceAll(/_(\w)/g, (_, letter: string) => letter.toUpperCase())
  return Object.fromEntries(Object.entries(row).map(([name, value]) => [camel(name), value]))
}
