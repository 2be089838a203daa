import type { Kysely } from "kysely"
import type { ReadTables } from "../../projections/kernel/table.ts"
import type { Pool } from "pg"
import { kyselyOf } from "./database.ts"
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
  return <T>(companyId: CompanyId, query: (db: Kysely<ReadTables>) => Promise<T>): Promise<T> =>
    onConnection(pool, async (client) => {
      await client.query({ ...SET_COMPANY, values: [COMPANY_SETTING, companyId] })
      return query(kyselyOn(client))
    })
}

/** The same for whoever reads on and off: each query with a connection of its own. */
export function readerAsCompany(pool: Pool) {
  return (companyId: CompanyId): Kysely<ReadTables> => {
    const connect = async () => {
      const client = await pool.connect()
      try {
        await client.query({ ...SET_COMPANY, values: [COMPANY_SETTING, companyId] })
        return client
      } catch (error) {
        client.release(true)
        throw error
      }
    }
    return kyselyOf<ReadTables>({ connect, end: async () => undefined, options: {} })
  }
}
