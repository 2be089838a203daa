import type { Kysely } from "kysely"
import type { Pool } from "pg"
import { kyselyOn } from "./kysely-on.ts"
import { onConnection } from "./on-connection.ts"
import { COMPANY_SETTING } from "./roles.ts"
import type { CompanyId } from "../../domain/kernel/ids.ts"

const SET_COMPANY = { name: "set-company", text: "select set_config($1, $2, false)" }

/**
 * Reads as the API's role with one company in sight. The setting is made anew at each use of a
 * connection, before anything is read: a company left over from the last reader is never seen.
 */
export function readAsCompany(pool: Pool) {
  return <T>(companyId: CompanyId, query: (db: Kysely<never>) => Promise<T>): Promise<T> =>
    onConnection(pool, async (client) => {
      await client.query({ ...SET_COMPANY, values: [COMPANY_SETTING, companyId] })
      return query(kyselyOn(client) as unknown as Kysely<never>)
    })
}
