/**
 * Read model `accounts`: the balances of double-entry accounts. The balance of `funds` is what the
 * company has left; all balances of a company sum to zero.
 */
import type { Kysely, Transaction } from "kysely"
import { sql } from "kysely"
import type { LedgerEvent } from "../domain/charging/ledger-events.ts"
import { postingsOf } from "../domain/charging/postings.ts"
import type { CompanyId } from "../domain/kernel/ids.ts"
import type { Micros } from "../domain/kernel/money.ts"
import type { Projection } from "./projection.ts"

/** An account and its balance. */
export interface AccountRow {
  readonly company_id: string
  readonly account: string
  readonly balance_micros: Micros
}

interface Tables {
  accounts: AccountRow
}

/** The read model. */
export const accounts: Projection = {
  name: "accounts",
  version: 1,
  categories: ["ledger"],
  tables: ["accounts"],
  create: `
    create table accounts (
      company_id text not null,
      account text not null,
      balance_micros bigint not null,
      primary key (company_id, account)
    )`,
  apply: async (tx: Transaction<Tables>, facts) => {
    const changes = new Map<string, { company: string; account: string; amount: Micros }>()
    for (const { fact, companyId } of facts) {
      const company = companyId ?? ""
      for (const { account, amountMicros } of postingsOf(fact as LedgerEvent)) {
        const place = `${company} ${account}`
        const amount = (changes.get(place)?.amount ?? 0) + amountMicros
        changes.set(place, { company, account, amount })
      }
    }
    if (changes.size === 0) return
    const rows = [...changes.values()]
    await sql`
      insert into accounts
      select * from unnest(
        ${rows.map((row) => row.company)}::text[],
        ${rows.map((row) => row.account)}::text[],
        ${rows.map((row) => row.amount)}::bigint[])
      on conflict (company_id, account) do update
      set balance_micros = accounts.balance_micros + excluded.balance_micros`.execute(tx)
  },
}

/** What a company has left, in micros; 0 where nothing was ever added. */
export async function fundsOf(db: Kysely<Tables>, companyId: CompanyId): Promise<Micros> {
  const row = await db
    .selectFrom("accounts")
    .select("balance_micros")
    .where("company_id", "=", companyId)
    .where("account", "=", "funds")
    .executeTakeFirst()
  return row?.balance_micros ?? 0
}

/** The companies whose balances do not sum to zero: there must be none. */
export async function unbalanced(
  db: Kysely<Tables>,
): Promise<readonly { readonly company_id: string; readonly sum: Micros }[]> {
  return db
    .selectFrom("accounts")
    .select(["company_id", sql<number>`sum(balance_micros)::bigint`.as("sum")])
    .groupBy("company_id")
    .having(sql`sum(balance_micros)`, "<>", 0)
    .execute()
}
