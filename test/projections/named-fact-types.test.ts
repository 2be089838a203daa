/** A read model writes rows exactly for the fact types that it names. */
import { PROGRAM } from "../../src/slices.ts"
import fc from "fast-check"
import type { CompiledQuery, DatabaseConnection, Transaction } from "kysely"
import { Kysely, PostgresAdapter, PostgresIntrospector, PostgresQueryCompiler } from "kysely"
import { describe, expect, it } from "vitest"
import { factsOf } from "../../adapters/postgres/projector/tables.ts"
import type { AnyFact } from "../../domain/kernel/facts.ts"
import type { Projection } from "../../projections/kernel/projection.ts"
import { EVENT_FIELD_ARBITRARIES } from "../kernel/stored-formats.ts"
import { testOnlyFact } from "../support/partial-fake.ts"

const IGNORED = [...PROGRAM.readModels, ...PROGRAM.jobProjections].flatMap((projection) =>
  (projection.ignoredTypes ?? []).map((type) => [projection.name, type, projection] as const),
)
const HANDLED = PROGRAM.readModels.flatMap((model) =>
  model.on.map((type) => [model.name, type, model] as const),
)
/** A charge belongs to a call by its resource; other fields may have any value. */
const OF_A_CALL = { resource: "call_1" }
/** Names of domain and recipient streams end in these ids. */
const STREAM_NAMES: Readonly<Record<string, string>> = { domain: "dom_1", recipient: "ab" }

/** The statements that read models executed. */
const statements: string[] = []
const connection: DatabaseConnection = {
  executeQuery: async ({ sql }: CompiledQuery) => {
    statements.push(sql)
    return { rows: [] }
  },
  streamQuery: () => {
    throw new Error("nothing is streamed")
  },
}
const none = async () => undefined
const db = new Kysely<unknown>({
  dialect: {
    createAdapter: () => new PostgresAdapter(),
    createDriver: () => ({
      init: none,
      destroy: none,
      releaseConnection: none,
      beginTransaction: none,
      commitTransaction: none,
      rollbackTransaction: none,
      acquireConnection: async () => connection,
    }),
    createIntrospector: (of) => new PostgresIntrospector(of),
    createQueryCompiler: () => new PostgresQueryCompiler(),
  },
})

/** Passes a fact to a read model and records its statements in `statements`. */
async function project(projection: Projection, fact: AnyFact): Promise<void> {
  const [category = "any"] = projection.categories.filter((one) =>
    PROGRAM.streams.codecOf(`${one}-co_1`).types.some((type) => type === fact.type),
  )
  const recorded = {
    stream: `${category}-co_1-${STREAM_NAMES[category] ?? "any"}`,
    category,
    position: { commit: 1n, prepare: 1n },
    companyId: "co_1" as const,
    revision: 1,
    fact,
    keyId: null,
    personId: null,
    actor: null,
  }
  await projection.apply(db as Transaction<unknown>, [recorded], { unseal: async () => "text" })
}

/** Facts of a type, in a category that the read model follows. */
function arbitraryOf({ categories }: Projection, type: string): fc.Arbitrary<AnyFact> {
  const fields = categories.map((category) => EVENT_FIELD_ARBITRARIES[category]?.[type])
  const [only] = fields.filter((one) => one !== undefined)
  if (only === undefined) throw new Error(`there is no fact ${type}`)
  const record = fc.record(only, { noNullPrototype: true })
  return record.map((rest) => testOnlyFact({ type, ...(rest as object) }))
}

describe("the facts of a read model", () => {
  it.each(HANDLED)("%s: %s writes", async (name, type, model) => {
    const given = name === "calls" && type.startsWith("Charge") ? OF_A_CALL : {}
    const written: string[] = []
    await fc.assert(
      fc.asyncProperty(arbitraryOf(model, type), async (fact) => {
        await project(model, { ...fact, ...given })
        written.push(...statements.splice(0))
      }),
      { numRuns: 25 },
    )
    expect(written).not.toEqual([])
  })

  it.each(IGNORED)("%s: %s writes nothing", async (_name, type, projection) => {
    await fc.assert(
      fc.asyncProperty(arbitraryOf(projection, type), async (fact) => {
        // A projection may mistake an unnamed fact for another type and throw, but only before it writes.
        await Promise.allSettled([project(projection, fact)])
        expect(statements.splice(0)).toEqual([])
      }),
      { numRuns: 25 },
    )
  })

  it("are all except those that it ignores, including unknown types", () => {
    const event = (stream: string, type: string) => ({
      stream,
      type,
      revision: 0,
      id: "",
      data: "{}",
      metadata: "{}",
      position: { commit: 1n, prepare: 1n },
    })
    const projection = { categories: ["ledger"], ignoredTypes: ["Charged"] }
    const events = [
      event("ledger-co_1", "Charged"),
      event("ledger-co_1", "Unknown"),
      event("phone-co_1", "Unknown"),
    ]
    expect(factsOf(projection, events).map(({ type }) => type)).toEqual(["Unknown"])
  })
})
