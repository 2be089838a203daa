/** Tampered checkpoints, signed heads and read models. */
import { ledgerStreamOf } from "../../domain/charging/aggregates.ts"
import { describe, expect, it } from "vitest"
import { makeCompany, ownWorld, setLimit } from "../support/world.ts"
import type { AuditReport } from "../../src/audit/operate/audit.ts"
import { auditWithTampering } from "./tampering.ts"

const world = await ownWorld("store")

const company = await makeCompany(world)
const { stream } = ledgerStreamOf(company.companyId)
const charge = { company: company.companyId, class: "general", dollars: "1", item: "chat" }
await world.operate("charge", charge)
await setLimit(world, company, { period: "day", dollars: "5", key: company.keyId })
await setLimit(world, company, {
  dollars: "5",
  person: company.ownerId,
  class: "ai",
  period: "week",
})
await world.operate("wait")
await world.operate("audit head")
// Stores the checkpoints of all streams in memory.
await world.ports.runner.close()

const tampered = (statements: readonly string[], input: object = {}) =>
  auditWithTampering(world, statements, input)

const faults = ({ checks }: AuditReport) => checks.filter(({ ok }) => !ok)

const HEADS_CHECK = "signed heads belong to this history"

describe("a signed head", () => {
  const foreign = `${"A".repeat(43)}=`

  it.each([
    ["an invalid signature", "signature", `${"A".repeat(86)}==`, "an invalid signature"],
    ["a malformed signature", "signature", "garbage", "an invalid signature"],
    ["another public key", "public_key", foreign, `one by ${foreign}`],
  ])("is named if it has %s", async (_what, column, value, expected) => {
    // The daily signing may run in between: the command made the last head.
    const sizes = "select max(size) from ledger.tree_heads"
    const tree = `tree = '${company.companyId}'`
    const where = `where ${tree} and size = (${sizes} where ${tree})`
    const found = await tampered([`update ledger.tree_heads set ${column} = '${value}' ${where}`])
    expect(faults(found)).toMatchObject([{ name: HEADS_CHECK }])
    expect(found.firstBroken?.expected).toContain(`the head of ${company.companyId} at `)
    expect(found.firstBroken?.found).toBe(expected)
  })
})

describe("audit verify --head", () => {
  it("reports a hash that is no head or event of the history", async () => {
    const found = await tampered([], { head: "a".repeat(64) })
    const [check] = faults(found)
    expect(check?.name).toBe(HEADS_CHECK)
    expect(check?.detail).toMatch(
      /^expected the given head a{64}, .*no event or head with this hash/,
    )
  })
})

describe("an edited checkpoint", () => {
  const edited = (change: string) =>
    tampered([`update ledger.checkpoints set ${change} where stream = '${stream}'`])
  const name = "checkpoints match the folded state"

  it("is named if it is not JSON, and every other check is made", async () => {
    const found = await edited("state = '{'")
    expect(faults(found)).toMatchObject([{ name }])
    expect(found.firstBroken).toMatchObject({ check: name, stream })
    expect(found.firstBroken?.found).toContain("it cannot be loaded: ")
  })

  it("is named with both hashes if its hash differs", async () => {
    const other = "0".repeat(64)
    const found = await edited(`hash = '${other}'`)
    expect(faults(found)).toMatchObject([
      { name, discrepancy: { stream, found: `the hash ${other}` } },
    ])
    expect(found.firstBroken?.expected).toMatch(/^the hash [0-9a-f]{64}$/)
  })

  it("is named with both values of the first field that differs", async () => {
    const found = await edited(
      `state = regexp_replace(state, '"fundsMicros":[0-9]+', '"fundsMicros":1')`,
    )
    const [checkpoint] = faults(found)
    expect(checkpoint?.detail).toMatch(
      / revision \d+: expected scalars\.fundsMicros 49000000, found scalars\.fundsMicros 1$/,
    )
  })
})

describe("audit show", () => {
  it("shows the facts about a holder, regardless of who caused them", async () => {
    const of = async (filter: object) =>
      (await world.operate("audit show", { stream, type: "LimitSet", ...filter })).events
    expect(await of({ key: company.keyId })).toMatchObject([{ data: { holder: "key" } }])
    expect(await of({ person: company.ownerId })).toMatchObject([{ data: { holder: "person" } }])
    expect(await of({ key: "key_none" })).toEqual([])
  })
})
