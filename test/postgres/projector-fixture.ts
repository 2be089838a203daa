/** A projector on a memory store with small read models of its own, and what can go wrong with it. */
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

/** What comparing all rows of a read model with a rebuild finds. */
export async function verifyReadModel(
  projector: Pick<RunningProjector, "verify"> | undefined,
  name = "spent",
): Promise<ReadModelVerification | undefined> {
  const everything = { companyId: null, range: {}, isWanted: () => true }
  return (await projector?.verify([name], { ...everything, onProgress: () => undefined }))?.[0]
}

/** What a test may change of a read model that sums the numbers in its streams. */
export interface SumOptions {
  readonly name: string
  readonly category: string
  readonly version?: number
  /** Runs after the rows were written and before the position's transaction is committed. */
  readonly afterApply?: () => Promise<void>
}

/** A read model in which a fact that is written twice shows. */
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

/** Sums what was spent. */
export const SPENT = sumReadModel({ name: "spent", category: "spending" })
/** Sums what was earned. */
export const EARNED = sumReadModel({ name: "earned", category: "earning" })

/** Opens a database without read models at the start of each test. Call it at the top level of the file. */
export async function readModelDatabase(connections = 20) {
  const database = await databaseUnderTest()
  const pool = database.pool(connections)
  afterEach(() => dropReadModels(pool))
  return { database, pool }
}

/** What a projector may be started with that is not the fixture's own. */
export interface StartOptions {
  readonly pool?: pg.Pool
  /** Default `EVERYBODY`: what is left is that a batch goes only onto what it follows. */
  readonly leases?: Leases
}

/** Reads an event of the fixture. */
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

/** A store, and projectors on it as a process would start them. */
export class ProjectorUnderTest {
  readonly store = openMemoryEventStore()
  readonly warnings: string[] = []
  /** The read models that were built anew at a start, a line for each time it was told. */
  readonly renewedLeases: string[] = []
  readonly applied: string[] = []
  readonly notifiedEvents: StoredEvent[] = []
  readonly #pool: pg.Pool
  readonly #revisions = new Map<string, number>()

  /** The read models live in this pool's database. */
  constructor(pool: pg.Pool) {
    this.#pool = pool
  }

  /** Starts a projector; closed after the test. */
  async start(
    projections: readonly Projection[],
    hints: readonly Projection[] = [],
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
        onRebuildProgress: (name) => this.renewedLeases.push(name),
        leases,
      },
      projections,
      hints,
    )
    onTestFinished(() => projector.close())
    return projector
  }

  /** Appends amounts to a stream. */
  async appendAmounts(stream: string, ...amounts: readonly (number | "poison")[]): Promise<void> {
    const expected = this.#revisions.get(stream) ?? NO_STREAM
    const events = amounts.map((amount) => anEvent({ data: JSON.stringify({ amount }) }))
    const { revision } = await this.store.append(stream, events, expected)
    this.#revisions.set(stream, revision)
  }

  /** Waits until everything appended so far is shown; false where a read model is stopped. */
  async waitUntilApplied(
    projector: RunningProjector,
    ...names: readonly string[]
  ): Promise<boolean> {
    const wanted = names.length === 0 ? undefined : names
    return projector.waitUntilWritten(await this.store.head(), 20_000, wanted)
  }

  /** The rows of a read model. */
  async rows(name: string): Promise<readonly { company_id: string; sum: number; facts: number }[]> {
    return (await this.#pool.query(`select * from read."${name}" order by company_id`)).rows
  }

  /** The position stored for a read model, and the fault. */
  async stored(name: string): Promise<{ commit_position: number; fault: string | null }> {
    const { rows } = await this.#pool.query(
      "select commit_position, fault from ledger.projections where name = $1",
      [name],
    )
    return rows[0]
  }
}
