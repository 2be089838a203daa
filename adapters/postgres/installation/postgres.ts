import type { Pool, PoolClient } from "pg"
import { inTransaction, storedRows } from "../projector/tables.ts"
import type { InstallationMemory, StoreIdentity, StoreKind, StoreMove } from "./port.ts"

interface Row {
  readonly kind: StoreKind
  readonly first_event: string
  readonly first_commit: number
  readonly first_prepare: number
}

/**
 * The memory in the tables `ledger.event_store` and `ledger.unfinished_restore`.
 *
 * @param hints the projections that are written once and never folded anew
 */
export function openInstallationMemory(pool: Pool, hints: readonly string[]): InstallationMemory {
  return {
    store: async () => {
      const { rows } = await pool.query<Row>("select * from ledger.event_store")
      return rows[0] === undefined ? null : identityOf(rows[0])
    },
    rememberStore: async (identity) => {
      await pool.query(`${INSERT} on conflict do nothing`, [...valuesOf(identity), 0])
    },
    generation: () => generationIn(pool),
    moveTo: (identity, handled) =>
      inTransaction(pool, async (client) => {
        const { rows } = await client.query<{ generation: number }>(
          "delete from ledger.event_store returning generation",
        )
        const generation = (rows[0]?.generation ?? 0) + 1
        await writeMove(client, { identity, generation, handled }, hints)
      }),
    handled: async () => {
      const rows = (await storedRows(pool)).filter(({ name }) => hints.includes(name))
      return new Map(rows.map(({ name, position }) => [name, position]))
    },
    unfinishedRestore: async () => {
      const { rows } = await pool.query<{ backup: string }>(
        "select backup from ledger.unfinished_restore",
      )
      return rows[0]?.backup ?? null
    },
  }
}

/** How often the events have moved. */
export async function generationIn(pool: Pool): Promise<number> {
  const { rows } = await pool.query<{ generation: number }>(
    "select generation from ledger.event_store",
  )
  return rows[0]?.generation ?? 0
}

const INSERT = `
  insert into ledger.event_store (kind, first_event, first_commit, first_prepare, generation)
  values ($1, $2, $3, $4, $5)`

/** Writes in a transaction what `moveTo` says, where no event store is remembered. */
export async function writeMove(
  client: PoolClient,
  { identity, generation, handled }: StoreMove,
  hints: readonly string[],
): Promise<void> {
  await client.query(INSERT, [...valuesOf(identity), generation])
  // A read model of which nothing is known is made anew by whoever starts next.
  await client.query("delete from ledger.projections where not (name = any($1))", [hints])
  for (const [hint, { commit, prepare }] of handled) {
    await client.query(
      `update ledger.projections
       set commit_position = $2, prepare_position = $3, last_event = null, fault = null
       where name = $1`,
      [hint, commit, prepare],
    )
  }
}

function valuesOf({ kind, firstEvent, first }: StoreIdentity): unknown[] {
  return [kind, firstEvent, first.commit, first.prepare]
}

function identityOf({ kind, first_event, first_commit, first_prepare }: Row): StoreIdentity {
  const first = { commit: BigInt(first_commit), prepare: BigInt(first_prepare) }
  return { kind, firstEvent: first_event, first }
}
