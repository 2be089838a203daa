/** The memory of a process with ledgers in memory, or with the list of all companies. */
import { execFile } from "node:child_process"
import { fileURLToPath } from "node:url"
import { promisify } from "node:util"
import { assertMeasurement } from "../benchmark.ts"
import type { StoreEnvironment } from "../fixtures/store-environment.ts"

/** Bytes for each of these ledgers, in a process of its own that loads all of them. */
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

/** The list of a million companies: milliseconds to fold it from its texts, and its bytes. */
export const measureCompanyList = (signal: AbortSignal) =>
  runScript<{ ms: number; bytes: number }>(new URL("list-of-companies.ts", import.meta.url), {
    env: {},
    signal,
  })

interface ScriptOptions {
  readonly env: Readonly<Record<string, string>>
  readonly signal: AbortSignal
}

/** Runs a script in a process of its own that can run the collector, and parses the JSON it prints. */
async function runScript<T>(script: URL, { env, signal }: ScriptOptions): Promise<T> {
  const args = ["--expose-gc", fileURLToPath(script)]
  const options = { signal, env: { ...process.env, ...env } }
  const { stdout } = await promisify(execFile)(process.execPath, args, options)
  return JSON.parse(stdout) as T
}
