import pg from "pg"
import { errorCode } from "../../machine/startup/port.ts"

/** The one role of the cluster that is made with it. */
export const SUPERUSER = "postgres"

/** The database that everything of the program's lives in. */
export const DATABASE = "ledger"

/** How long one question may take, connecting included. */
const ASK_TIMEOUT_MS = 10_000

/** The address of a database of this cluster, password included. */
export function urlOf(port: number, password: string, database: string): string {
  return `postgresql://${SUPERUSER}:${password}@127.0.0.1:${port}/${database}`
}

/** Asks one question over a connection of its own, and gives the first column of the first row. */
async function ask(url: string, sql: string): Promise<unknown> {
  const client = new pg.Client({
    connectionString: url,
    connectionTimeoutMillis: ASK_TIMEOUT_MS,
    query_timeout: ASK_TIMEOUT_MS,
  })
  // A connection that breaks while idle would otherwise end this process; the query tells it too.
  client.on("error", () => undefined)
  try {
    await client.connect()
    const { rows } = await client.query<unknown[]>({ text: sql, rowMode: "array" })
    return rows[0]?.[0]
  } finally {
    await client.end()
  }
}

/** Makes the program's database when this start is the first, or the first was cut short. */
export async function ensureDatabase(port: number, password: string): Promise<void> {
  const exists = `select 1 from pg_database where datname = '${DATABASE}'`
  const admin = urlOf(port, password, "postgres")
  if ((await ask(admin, exists)) !== undefined) return
  try {
    await ask(admin, `create database ${DATABASE}`)
  } catch (error) {
    // 42P04: another process of this cluster was faster.
    if (errorCode(error) !== "42P04") throw error
  }
}
