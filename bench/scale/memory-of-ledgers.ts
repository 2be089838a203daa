/** What a process takes that has ledgers in memory, or the list of all companies. */
import { execFile } from "node:child_process"
import { fileURLToPath } from "node:url"
import { promisify } from "node:util"
import { assertMeasurement } from "../benchmark.ts"
import type { StoreEnvironment } from "../fixtures/store-environment.ts"

/** Bytes for each of these ledgers, in a process of its own that has taken up all of them. */
export async function bytesOfLedger(
  { databaseUrl, pool }: StoreEnvironment,
  streams: readonly string[],
  signal: AbortSignal,
): Promise<number> {
  await pool.query(`create table if not exists public.grown
    (place bigint generated always as identity primary key, stream text not null unique)`)
  const add = `
    insert into public.grown (stream) select unnest($1::text[]) on conflict (stream) do nothing`
  await pool.query(add, [streams])
  const env = { LOOKED_URL: databaseUrl, LOOKED_COUNT: String(streams.length), LOOKED_BOUND: "" }
  const { looked, bytes } = await runScript<{ looked: number; bytes: number }>(
    new URL("../growth/measure-company-memory.ts", import.meta.url),
    { env, signal },
  )
  assertMeasurement(looked === streams.length, `${looked} of ${streams.length} ledgers were there`)
  return bytes / looked
}

/** The list of a million companies: milliseconds to take it up from its texts, and bytes that it takes. */
export const measureCompanyList = (signal: AbortSignal) =>
  runScript<{ ms: number; bytes: number }>(new URL("list-of-companies.ts", import.meta.url), {
    env: {},
    signal,
  })

interface ScriptOptions {
  readonly env: Readonly<Record<string, string>>
  readonly signal: AbortSignal
}

/** What a script prints as JSON, in a process of its own that collects garbage when it is told. */
async function runScript<T>(script: URL, { env, signal }: ScriptOptions): Promise<T> {
  const args = ["--expose-gc", fileURLToPath(script)]
  const options = { signal, env: { ...process.env, ...env } }
  const { stdout } = await promisify(execFile)(process.execPath, args, options)
  return JSON.parse(stdout) as T
}
