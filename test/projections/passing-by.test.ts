/** Facts that pass a read model by: they would have written nothing. */
import { PROGRAM } from "../../src/slices.ts"
import fc from "fast-check"
import type { CompiledQuery, DatabaseConnection, Transaction } from "kysely"
import { Kysely, PostgresAdapter, PostgresIntrospector, PostgresQueryCompiler } from "kysely"
import { describe, expect, it } from "vitest"
import { factsOf } from "../../adapters/postgres/projector/facts.ts"
import type { AnyFact } from "../../domain/kernel/facts.ts"
import type { Projection } from "../../projections/kernel/projection.ts"
import { EVENT_FIELDS } from "../kernel/stored-formats.ts"
import { foreignFact } from "../support/partly.ts"

const CASES = [...PROGRAM.readModels, ...PROGRAM.workRows].flatMap((projection) =>
  (projection.ignores ?? []).map((type) => [projection.name, type, projection] as const),
)

/** The statements that read models asked for. */
const asked: string[] = []
const connection: DatabaseConnection = {
  executeQuery: async ({ sql }: CompiledQuery) => {
    asked.push(sql)
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

/** Gives the statements that a fact makes a read model ask for. */
async function statementsOf(projection: Projection, fact: AnyFact): Promise<readonly string[]> {
  const recorded = {
    stream: "any-co_1",
    category: "any",
    position: { commit: 1n, prepare: 1n },
    companyId: "co_1" as const,
    revision: 1,
    fact,
    keyId: null,
    personId: null,
    actor: null,
  }
  await projection.apply(db as Transaction<unknown>, [recorded], { open: async () => "text" })
  return asked.splice(0)
}

/** Facts of a type, in the category of a read model's that has it. */
function arbitraryOf({ categories }: Projection, type: string): fc.Arbitrary<AnyFact> {
  const fields = categories.map((category) => EVENT_FIELDS[category]?.[type])
  const [only] = fields.filter((one) => one !== undefined)
  if (only === undefined) throw new Error(`there is no fact ${type}`)
  const record = fc.record(only, { noNullPrototype: true })
  return record.map((rest) => foreignFact({ type, ...(rest as object) }))
}

describe("what passes a read model by", () => {
  it.each(CASES)("%s: %s would have written nothing", async (_name, type, projection) => {
    await fc.assert(
      fc.asyncProperty(arbitraryOf(projection, type), async (fact) => {
        expect(await statementsOf(projection, fact)).toEqual([])
      }),
      { numRuns: 25 },
    )
  })

  it("is seen: a fact that is not passed by writes", async () => {
    const charges = PROGRAM.readModels.find(({ name }) => name === "charges") as Projection
    await fc.assert(
      fc.asyncProperty(arbitraryOf(charges, "Charged"), async (fact) => {
        expect((await statementsOf(charges, fact)).join()).toContain("charges")
      }),
      { numRuns: 5 },
    )
  })

  it("is named by its type alone: what nobody knows is handed over", () => {
    const event = (stream: string, type: string) => ({
      stream,
      type,
      revision: 0,
      id: "",
      data: "{}",
      metadata: "{}",
      position: { commit: 1n, prepare: 1n },
    })
    const projection = { categories: ["ledger"], ignores: ["Charged"] }
    const events = [
      event("ledger-co_1", "Charged"),
      event("ledger-co_1", "Unheard"),
      event("phone-co_1", "Unheard"),
    ]
    expect(factsOf(projection, events).map(({ type }) => type)).toEqual(["Unheard"])
  })
})
