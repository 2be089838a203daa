/** Helpers that tamper with stored data and restore it. */
import { sql } from "kysely"
import { expect } from "vitest"
import type { StoredEvent } from "../../adapters/eventstore/port.ts"
import type { AuditReport } from "../../src/audit/operate/audit.ts"
import { NO_HASH, expectedHash } from "../../src/frame/kernel/envelope.ts"
import { collectEvents } from "../contracts/event-store-fixture.ts"
import type { World } from "../support/world.ts"

const TABLES = ["eventstore.events", "ledger.checkpoints", "ledger.jobs", "ledger.tree_heads"]

/** Runs statements that each change one row, runs `look`, and restores all tables. */
export async function withTamperedRows<T>(
  world: World,
  statements: readonly string[],
  look: () => Promise<T>,
): Promise<T> {
  const db = world.ports.readAll
  for (const table of TABLES)
    await sql.raw(`create table ${table}_backup as table ${table}`).execute(db)
  try {
    for (const statement of statements) {
      const { numAffectedRows } = await sql.raw(statement).execute(db)
      expect(numAffectedRows, statement).toBe(1n)
    }
    return await look()
  } finally {
    // One transaction: a reader in between would see a store without events and report that.
    await db.transaction().execute(async (tx) => {
      for (const table of TABLES) {
        await sql.raw(`delete from ${table}`).execute(tx)
        const insert = `insert into ${table} overriding system value table ${table}_backup`
        await sql.raw(insert).execute(tx)
        await sql.raw(`drop table ${table}_backup`).execute(tx)
      }
    })
  }
}

/** Audits with the statements applied, and restores the tables. */
export function auditWithTampering(
  world: World,
  statements: readonly string[],
  input: object,
): Promise<AuditReport> {
  return withTamperedRows(world, statements, () => world.operate("audit verify", input))
}

/**
 * Statements that change events of a stream and recalculate every hash after them, so that the chain is valid.
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
