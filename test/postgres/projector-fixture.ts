/** A projector on a memory store with small read models, and faults on demand. */
import { sql } from "kysely"
import type pg from "pg"
import { afterEach, onTestFinished } from "vitest"
import { machinePacer } from "../../adapters/machine/clock/database-clock.ts"
import { openMemoryEventStore } from "../../adapters/eventstore/memory.ts"
import type { StoredEvent } from "../../adapters/eventstore/port.ts"
import { NO_STREAM } from "../../adapters/eventstore/port.ts"
import type { ReadModelVerification } from "../../adapters/postgres/projector/port.ts"
import type { RunningProjector } from "../../adapters/postgres/projector/projector.ts"
import { startProjector } from "../../adapters/postgres/projector/projector.ts"
import type { Leases } from "../../adapters/postgres/leases/port.ts"
import type { Projection, ProjectedFact } from "../../projections/kernel/projection.ts"
import { anEvent } from "../contracts/event-store-fixture.ts"
import { ALL_LEASES, dropReadModels } from "../support/read-models.ts"
import { categoryOf, companyOfStream } from "../../domain/kernel/aggregate.ts"
import { databaseUnderTest } from "./database-under-test.ts"
import { testOnlyFact } from "../support/partial-fake.ts"

/** Compares all rows of a read model with a rebuild. */
export async function verifyReadModel(
  projector: Pick<RunningProjector, "verify"> | undefined,
  name = "spent",
): Promise<ReadModelVerification | undefined> {
  const everything = { companyId: null, range: {}, isWanted: () => true }
  return (await projector?.verify([name], { ...everything, onProgress: () => undefined }))?.[0]
}

/** Options of a read model that sums the amounts in its streams. */
export interface SumOptions {
  readonly name: string
  readonly category: string
  readonly version?: number
  /** Runs after the rows are written and before the transaction commits. */
  readonly afterApply?: () => Promise<void>
}

/** A read model that reveals facts written twice. */
export function sumReadModel({ name, category, version = 1, afterApply }: SumOptions): Projection {
  return {
    name,
    version,
    categories: [category],
    tables: [name],
    create: `create table ${name} (company_id text primary key, sum bigint not null, facts bigint not null)`,
    apply: async (tx, facts) => {
      for (const { fact, companyId } of facts) {
        const { amount } = { amount: 0, ...fact }
        await sql`
          insert into ${sql.table(name)} as known values (${companyId ?? ""}, ${amount}, 1)
          on conflict (company_id) do update
          set sum = known.sum + excluded.sum, facts = known.facts + 1`.execute(tx)
      }
      await afterApply?.()
    },
  }
}

export const SPENT = sumReadModel({ name: "spent", category: "spending" })
export const EARNED = sumReadModel({ name: "earned", category: "earning" })

/** Opens a database that has no read models at the start of each test. Call it at the top level of the file. */
export async function readModelDatabase(connections = 20) {
  const database = await databaseUnderTest()
  const pool = database.pool(connections)
  afterEach(() => dropReadModels(pool))
  return { database, pool }
}

/** Replacements for the fixture's pool and leases. */
export interface StartOptions {
  readonly pool?: pg.Pool
  /** Default `ALL_LEASES`: only the position protects against double writes. */
  readonly leases?: Leases
}

/** Decodes an event of the fixture. */
export function decodeFixtureEvent(stored: StoredEvent): ProjectedFact {
  const fact = JSON.parse(stored.data) as { amount: number }
  if (typeof fact.amount !== "number") throw new RangeError("this fact has no amount")
  const { stream } = stored
  return {
    stream,
    category: categoryOf(stream),
    companyId: companyOfStream(stream),
    revision: stored.revision,
    fact: testOnlyFact(fact),
    keyId: null,
    personId: null,
    actor: null,
  }
}

/** A store, and projectors on it as processes start them. */
export class ProjectorUnderTest {
  readonly store = openMemoryEventStore()
  readonly warnings: string[] = []
  /** Names of read models that a start rebuilt, one for each reported progress. */
  readonly rebuilt: string[] = []
  readonly applied: string[] = []
  readonly notifiedEvents: StoredEvent[] = []
  readonly #pool: pg.Pool
  readonly #revisions = new Map<string, number>()

  /** `pool` is of the database with the read models. */
  constructor(pool: pg.Pool) {
    this.#pool = pool
  }

  /** Starts a projector, which is closed after the test. */
  async start(
    projections: readonly Projection[],
    jobProjections: readonly Projection[] = [],
    { pool = this.#pool, leases = ALL_LEASES }: StartOptions = {},
  ): Promise<RunningProjector> {
    const projector = await startProjector(
      {
        pool,
        store: this.store,
        comparisonStore: this.store,
        pacer: machinePacer,
        decode: decodeFixtureEvent,
        opener: { unseal: async (_company, sealed) => sealed },
        warn: (message) => this.warnings.push(message),
        onApplied: (name) => this.applied.push(name),
        onEventsRead: (events) => this.notifiedEvents.push(...events),
        onRebuildProgress: (name) => this.rebuilt.push(name),
        leases,
      },
      projections,
      jobProjections,
    )
    onTestFinished(() => projector.close())
    return projector
  }

  async appendAmounts(stream: string, ...amounts: readonly (number | "poison")[]): Promise<void> {
    const expected = this.#revisions.get(stream) ?? NO_STREAM
    const events = amounts.map((amount) => anEvent({ data: JSON.stringify({ amount }) }))
    const { revision } = await this.store.append(stream, events, expected)
    this.#revisions.set(stream, revision)
  }

  /** Waits until everything appended so far is projected; false if a read model is stopped. */
  async waitUntilApplied(
    projector: RunningProjector,
    ...names: readonly string[]
  ): Promise<boolean> {
    const wanted = names.length === 0 ? undefined : names
    return projector.waitUntilWritten(await this.store.head(), 20_000, wanted)
  }

  async rows(name: string): Promise<readonly { company_id: string; sum: number; facts: number }[]> {
    return (await this.#pool.query(`select * from read."${name}" order by company_id`)).rows
  }

  async stored(name: string): Promise<{ commit_position: number; fault: string | null }> {
    const { rows } = await this.#pool.query(
      "select commit_position, fault from ledger.projections where name = $1",
      [name],
    )
    return rows[0]
  }
}
