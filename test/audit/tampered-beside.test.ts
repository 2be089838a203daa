/** What stands beside the events — checkpoints, signed heads, read models — edited by somebody. */
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import { ledgerStream } from "../../domain/charging/ledger.ts"
import type { AuditCheck, Place } from "../../src/audit/findings.ts"
import type { Company, World } from "../support/world.ts"
import { makeCompany, openWorld } from "../support/world.ts"
import { whileTampered } from "./rewriting.ts"

let world: World
let company: Company
let stream: string

beforeAll(async () => {
  world = await openWorld()
  company = await makeCompany(world)
  stream = ledgerStream(company.companyId)
  const charge = { company: company.companyId, class: "general", dollars: "1", item: "chat" }
  await world.operate("charge", charge)
  await world.operate("wait")
  await world.operate("audit head")
  // Keeps the checkpoints of everything in memory.
  await world.ports.runner.close()
})
afterAll(async () => {
  await world.close()
})

interface Verdict {
  readonly ok: boolean
  readonly checks: readonly AuditCheck[]
  readonly firstBroken: (Place & { readonly check: string }) | null
}

/** What an audit says while the statements hold. */
function tampered(statements: readonly string[], input: object = {}): Promise<Verdict> {
  return whileTampered(world, statements, () => world.operate("audit verify", input))
}

const faults = ({ checks }: Verdict) => checks.filter(({ ok }) => !ok)

describe("a checkpoint that somebody edited", () => {
  const edited = (change: string) =>
    tampered([`update ledger.checkpoints set ${change} where stream = '${stream}'`])
  const name = "checkpoints are what folding gives"

  it("is named though it is no JSON any more, and every other check is made", async () => {
    const found = await edited("saved = '{'")
    expect(faults(found)).toMatchObject([{ name }])
    expect(found.firstBroken).toMatchObject({ check: name, stream })
    expect(found.firstBroken?.found).toContain("it cannot be loaded: ")
  })

  it("is named where it says another hash, with both", async () => {
    const other = "0".repeat(64)
    const found = await edited(`hash = '${other}'`)
    expect(faults(found)).toMatchObject([{ name, place: { stream, found: `the hash ${other}` } }])
    expect(found.firstBroken?.expected).toMatch(/^the hash [0-9a-f]{64}$/)
  })

  it("is named with its first field that differs, and both values", async () => {
    const found = await edited(
      `saved = regexp_replace(saved, '"fundsMicros":[0-9]+', '"fundsMicros":1')`,
    )
    const [checkpoint] = faults(found)
    expect(checkpoint?.detail).toMatch(
      / revision \d+: expected scalars\.fundsMicros 49000000, found scalars\.fundsMicros 1$/,
    )
  })
})
