/** Tampering with what is stored, behind the program's back, and putting it back as it was. */
import { sql } from "kysely"
import { expect } from "vitest"
import type { StoredEvent } from "../../adapters/eventstore/port.ts"
import type { AuditReport } from "../../src/audit/operate/audit.ts"
import { NO_HASH, expectedHash } from "../../src/frame/kernel/envelope.ts"
import { collectEvents } from "../contracts/event-store-fixture.ts"
import type { World } from "../support/world.ts"

const TABLES = ["eventstore.events", "ledger.checkpoints", "ledger.jobs", "ledger.tree_heads"]

/** Runs statements, each of which changes one row, then looks, and puts all tables back. */
export async function withTamperedRows<T>(
  world: World,
  statements: readonly string[],
  look: () => Promise<T>,
): Promise<T> {
  const db = world.ports.readAll
  for (const table of TABLES)
    await sql.raw(`create table ${table}_kept as table ${table}`).execute(db)
  try {
    for (const statement of statements) {
      const { numAffectedRows } = await sql.raw(statement).execute(db)
      expect(numAffectedRows, statement).toBe(1n)
    }
    return await look()
  } finally {
    // All at once: who reads in between would see a store that lost its events, and say so for a while.
    await db.transaction().execute(async (tx) => {
      for (const table of TABLES) {
        await sql.raw(`delete from ${table}`).execute(tx)
        const insert = `insert into ${table} overriding system value table ${table}_kept`
        await sql.raw(insert).execute(tx)
        await sql.raw(`drop table ${table}_kept`).execute(tx)
      }
    })
  }
}

/** What an audit says while the statements hold. */
export function auditWithTampering(
  world: World,
  statements: readonly string[],
  input: object,
): Promise<AuditReport> {
  return withTamperedRows(world, statements, () => world.operate("audit verify", input))
}

/**
 * The statements of somebody who changes one event of a stream and makes every hash from there on
 * anew, so that the chain is whole again.
 */
export async function rehashChainStatements(
  world: World,
  stream: string,
  change: (event: StoredEvent) => StoredEvent,
): Promise<readonly string[]> {
  const events = await collectEvents(world.ports.store.read(stream))
  const statements: string[] = []
  let previous = NO_HASH
  for (const event of events) {
    const changed = change(event)
    const hash = expectedHash(changed, previous)
    const metadata = changed.metadata.replace(/"hash":"[0-9a-f]{64}"/, `"hash":"${hash}"`)
    previous = hash
    if (metadata === event.metadata && changed.data === event.data) continue
    const text = (value: string) => `'${value.replaceAll("'", "''")}'`
    statements.push(
      `update eventstore.events set data = ${text(changed.data)}, metadata = ${text(metadata)}
       where stream = '${stream}' and revision = ${event.revision}`,
    )
  }
  return statements
}
