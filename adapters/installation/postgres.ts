import type { Pool, PoolClient } from "pg"
import { START } from "../eventstore/port.ts"
import type { Position } from "../eventstore/port.ts"
import { inTransaction } from "../postgres/projector/tables.ts"
import type { InstallationMemory, StoreIdentity, StoreKind } from "./port.ts"

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
      await pool.query(`${INSERT} on conflict do nothing`, valuesOf(identity))
    },
    moveTo: (identity, handled) =>
      inTransaction(pool, (client) => writeMove(client, identity, handled, hints)),
    handled: async () => {
      const { rows } = await pool.query<{ commit_position: number; prepare_position: number }>(
        `select commit_position, prepare_position from ledger.projections
         where name = any($1) order by commit_position, prepare_position limit 1`,
        [hints],
      )
      const [row] = rows
      if (row === undefined) return START
      return { commit: BigInt(row.commit_position), prepare: BigInt(row.prepare_position) }
    },
    unfinishedRestore: async () => {
      const { rows } = await pool.query<{ backup: string }>(
        "select backup from ledger.unfinished_restore",
      )
      return rows[0]?.backup ?? null
    },
  }
}

const INSERT = `
  insert into ledger.event_store (kind, first_event, first_commit, first_prepare)
  values ($1, $2, $3, $4)`

/** Writes in a transaction what `moveTo` says. */
export async function writeMove(
  client: PoolClient,
  identity: StoreIdentity,
  handled: Position,
  hints: readonly string[],
): Promise<void> {
  await client.query("delete from ledger.event_store")
  await client.query(INSERT, valuesOf(identity))
  // A read model of which nothing is known is made anew by whoever starts next.
  await client.query("delete from ledger.projections where not (name = any($1))", [hints])
  await client.query(
    `update ledger.projections set commit_position = $2, prepare_position = $3, fault = null
     where name = any($1)`,
    [hints, handled.commit, handled.prepare],
  )
}

function valuesOf({ kind, firstEvent, first }: StoreIdentity): unknown[] {
  return [kind, firstEvent, first.commit, first.prepare]
}

function identityOf({ kind, first_event, first_commit, first_prepare }: Row): StoreIdentity {
  const first = { commit: BigInt(first_commit), prepare: BigInt(first_prepare) }
  return { kind, firstEvent: first_event, first }
}
