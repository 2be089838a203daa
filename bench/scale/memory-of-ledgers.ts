/** What a ledger takes of a process that has it in memory. */
import { execFile } from "node:child_process"
import { fileURLToPath } from "node:url"
import { promisify } from "node:util"
import { honest } from "../benchmark.ts"
import type { Ground } from "../ground/ground.ts"

/** Bytes for each of these ledgers, in a process of its own that has taken up all of them. */
export async function bytesOfLedger(
  { databaseUrl, pool }: Ground,
  streams: readonly string[],
  signal: AbortSignal,
): Promise<number> {
  await pool.query(`create table if not exists public.grown
    (place bigint generated always as identity primary key, stream text not null unique)`)
  const add = `
    insert into public.grown (stream) select unnest($1::text[]) on conflict (stream) do nothing`
  await pool.query(add, [streams])
  const script = fileURLToPath(new URL("../growth/look-at-companies.ts", import.meta.url))
  const told = { LOOKED_URL: databaseUrl, LOOKED_COUNT: String(streams.length), LOOKED_BOUND: "" }
  const env = { ...process.env, ...told }
  const args = ["--expose-gc", script]
  const { stdout } = await promisify(execFile)(process.execPath, args, { signal, env })
  const { looked, bytes } = JSON.parse(stdout) as { looked: number; bytes: number }
  honest(looked === streams.length, `${looked} of ${streams.length} ledgers were there`)
  return bytes / looked
}
