/**
 * Read model `accounts`: balances of the double-entry accounts, and the terms of each company's account. The
 * balance of `funds` equals the company's funds; all balances of a company sum to zero.
 */
import type { Kysely, QueryExecutorProvider, Transaction } from "kysely"
import { sql } from "kysely"
import type { LedgerEvent } from "../../domain/charging/ledger-events.ts"
import { postingsOf } from "../../domain/charging/postings.ts"
import type { CompanyId } from "../../domain/kernel/ids.ts"
import type { Micros } from "../../domain/kernel/money.ts"
import type { ColumnTypes } from "../kernel/columns.ts"
import { insertRows, unnestRows } from "../kernel/columns.ts"
import type { ProjectedFact } from "../kernel/projection.ts"
import { companyFacts, defineReadModel } from "../kernel/projection.ts"
import type { RowOf, RowsOf } from "../kernel/table.ts"
import {
  bigintColumn,
  booleanColumn,
  columnWithDefault,
  textColumn,
  tablesOf,
  defineTable,
} from "../kernel/table.ts"

const ACCOUNTS = defineTable(
  "accounts",
  {
    company_id: textColumn<CompanyId>(),
    account: textColumn(),
    balance_micros: bigintColumn<Micros>(),
  },
  ["company_id", "account"],
)

export type AccountRow = RowOf<typeof ACCOUNTS>

const ACCOUNT_TERMS = defineTable(
  "account_terms",
  {
    company_id: textColumn<CompanyId>(),
    /** While true, the credit line does not apply. */
    prepaid_only: columnWithDefault(booleanColumn(), "false"),
    credit_line_micros: columnWithDefault(bigintColumn<Micros>(), "0"),
    locked: columnWithDefault(booleanColumn(), "false"),
    closed: columnWithDefault(booleanColumn(), "false"),
  },
  ["company_id"],
)

/** The terms and status of a company's account. */
export type AccountTermsRow = RowOf<typeof ACCOUNT_TERMS>

type Tables = RowsOf<typeof ACCOUNTS | typeof ACCOUNT_TERMS>

declare module "../kernel/table.ts" {
  interface ReadModelTables extends RowsOf<typeof ACCOUNTS | typeof ACCOUNT_TERMS> {}
}

/** The read model `accounts`. */
export const accountsReadModel = defineReadModel({
  name: "accounts",
  version: 2,
  on: [
    "FundsAdded",
    "FundsCorrected",
    "PurchasePaid",
    "Charged",
    "ChargeReduced",
    "LedgerOpened",
    "TermsChanged",
    "AccountLocked",
    "AccountUnlocked",
    "LedgerClosed",
    "LedgerReopened",
  ],
  ...tablesOf(ACCOUNTS, ACCOUNT_TERMS),
  apply: async (tx: Transaction<Tables>, facts) => {
    await post(tx, facts)
    const changes = new Map<string, TermsChange>()
    for (const { fact, companyId } of companyFacts(facts)) {
      const change = changeOf(fact)
      if (change === null) continue
      const former = changes.get(companyId) ?? NO_CHANGE
      changes.set(companyId, { ...former, ...change, company_id: companyId })
    }
    if (changes.size > 0) await changeTerms(tx, [...changes.values()])
  },
})

async function post(
  tx: QueryExecutorProvider,
  facts: readonly ProjectedFact<LedgerEvent>[],
): Promise<void> {
  const changes = new Map<string, AccountRow>()
  for (const { fact, companyId: company_id } of companyFacts(facts)) {
    for (const { account, amountMicros } of postingsOf(fact)) {
      const key = `${company_id} ${account}`
      const balance_micros = (changes.get(key)?.balance_micros ?? 0) + amountMicros
      changes.set(key, { company_id, account, balance_micros })
    }
  }
  await ACCOUNTS.insert(
    tx,
    [...changes.values()],
    sql`on conflict (company_id, account) do update
      set balance_micros = accounts.balance_micros + excluded.balance_micros`,
  )
}

type TermsChange = { readonly [K in keyof AccountTermsRow]: AccountTermsRow[K] | null } & {
  readonly company_id: CompanyId
}

const NO_CHANGE: Omit<TermsChange, "company_id"> = {
  prepaid_only: null,
  credit_line_micros: null,
  locked: null,
  closed: null,
}

function changeOf(fact: LedgerEvent): Partial<TermsChange> | null {
  switch (fact.type) {
    case "LedgerOpened":
    case "TermsChanged":
      return { prepaid_only: fact.prepaidOnly, credit_line_micros: fact.creditLineMicros }
    case "AccountLocked":
    case "AccountUnlocked":
      return { locked: fact.type === "AccountLocked" }
    case "LedgerClosed":
    case "LedgerReopened":
      return { closed: fact.type === "LedgerClosed" }
    default:
      return null
  }
}

async function changeTerms(
  tx: QueryExecutorProvider,
  changes: readonly TermsChange[],
): Promise<void> {
  const companyOnly: ColumnTypes<Pick<TermsChange, "company_id">> = { company_id: "text" }
  await insertRows(tx, "account_terms", companyOnly, changes, sql`on conflict do nothing`)
  await sql`
    update account_terms as terms
    set prepaid_only = coalesce(change.prepaid_only, terms.prepaid_only),
        credit_line_micros = coalesce(change.credit_line_micros, terms.credit_line_micros),
        locked = coalesce(change.locked, terms.locked),
        closed = coalesce(change.closed, terms.closed)
    from ${unnestRows<TermsChange>(ACCOUNT_TERMS.columns, changes, "change")}
    where change.company_id = terms.company_id`.execute(tx)
}

/** Returns a company's funds in micro-dollars; 0 if none were ever added. */
export async function fundsBalanceOf(db: Kysely<Tables>, companyId: CompanyId): Promise<Micros> {
  const row = await db
    .selectFrom("accounts")
    .select("balance_micros")
    .where("company_id", "=", companyId)
    .where("account", "=", "funds")
    .executeTakeFirst()
  return row?.balance_micros ?? 0
}

/** Lists a company's accounts by name. */
export async function listAccounts(
  db: Kysely<Tables>,
  companyId: CompanyId,
): Promise<readonly AccountRow[]> {
  return db
    .selectFrom("accounts")
    .selectAll()
    .where("company_id", "=", companyId)
    .orderBy("account")
    .execute()
}

/** Returns the terms and status of a company's account; null before it is opened. */
export async function findAccountTerms(
  db: Kysely<Tables>,
  companyId: CompanyId,
): Promise<AccountTermsRow | null> {
  const row = await db
    .selectFrom("account_terms")
    .selectAll()
    .where("company_id", "=", companyId)
    .executeTakeFirst()
  return row ?? null
}

/** Lists the companies whose balances do not sum to zero, which must be none. @param companyId null for all */
export async function listUnbalancedCompanies(
  db: Kysely<Tables>,
  companyId: CompanyId | null,
): Promise<readonly { readonly company_id: string; readonly sum: Micros }[]> {
  const sums = db
    .selectFrom("accounts")
    .select(["company_id", sql<number>`sum(balance_micros)::bigint`.as("sum")])
  return (companyId === null ? sums : sums.where("company_id", "=", companyId))
    .groupBy("company_id")
    .having(sql`sum(balance_micros)`, "<>", 0)
    .execute()
}
