/** What people and scripts are told of a limit that is replaced, a refusal, and a signed head. */
import { describe, expect, it } from "vitest"
import { makeCompany, ownWorld } from "../support/world.ts"
import { PROGRAM } from "../../src/slices.ts"

const world = await ownWorld("time")

/** What people are shown of an answer. */
function textOf(name: string, answer: unknown): string {
  const found = PROGRAM.operations.find((operation) => operation.name === name)
  return found?.render?.(answer, { isTTY: false, columns: 80 }) ?? ""
}

const limit = (input: object) =>
  world.operate("limit set", { company: company.companyId, class: "general", ...input })

await world.operate("clock set", { to: "2031-01-15T12:00:00.000Z" })
const company = await makeCompany(world)

describe("limit set", () => {
  it("says that it replaced none", async () => {
    const set = await limit({ period: "month", dollars: "40" })
    expect(set).toMatchObject({ limit: { amountMicros: 40_000_000 }, replaced: null })
    expect(textOf("limit set", set)).toBe(
      "The company's general limit is $40.00 a month. It replaced none.\n" +
        "$0.00 is used, $40.00 is left; it resets at 2031-02-01T00:00:00.000Z.\n",
    )
  })

  it("says what it replaced, whole", async () => {
    const set = await limit({ period: "week", dollars: "9", reminders: ["5", "8.5"] })
    expect(set.replaced).toEqual({
      period: "month",
      amountMicros: 40_000_000,
      leaveKeysOut: false,
      remindersMicros: [],
    })
    expect(textOf("limit set", set)).toMatch(
      /^The company's general limit is \$9\.00 a week, with reminders at \$5\.00, \$8\.50\. It replaced \$40\.00 a month\.\n/,
    )
    const again = await limit({ period: "month", dollars: "40" })
    expect(again.replaced).toMatchObject({ remindersMicros: [5_000_000, 8_500_000] })
    expect(textOf("limit set", again)).toContain(
      "It replaced $9.00 a week, with reminders at $5.00, $8.50.\n",
    )
  })

  it("replaces that of its own holder and class alone", async () => {
    const person = { person: company.ownerId, period: "week", dollars: "3" }
    expect((await limit({ ...person, leaveKeysOut: true })).replaced).toBeNull()
    expect((await limit({ class: "ai", period: "week", dollars: "3" })).replaced).toBeNull()
    const other = await limit({ ...person, dollars: "4" })
    expect(other.replaced).toMatchObject({ amountMicros: 3_000_000, leaveKeysOut: true })
    expect(textOf("limit set", other)).toContain("It replaced $3.00 a week, without keys.\n")
  })

  it("is undone by limit remove, which says what there was", async () => {
    await limit({ class: "ai", period: "week", dollars: "3" })
    const named = { company: company.companyId, class: "ai" }
    const done = await world.operate("limit remove", named)
    expect(done).toMatchObject({
      removed: { holder: "company", class: "ai" },
      former: { period: "week", amountMicros: 3_000_000 },
    })
    expect(textOf("limit remove", done)).toBe(
      "The company's ai limit of $3.00 a week is removed.\n",
    )
  })
})

it("a refusal is shown with the id of its charge", async () => {
  const spending = { class: "general", dollars: "41", item: "tokens", id: "too-much" }
  const charging = world.operate("charge", { company: company.companyId, ...spending })
  await expect(charging).rejects.toThrow(/stops this/)
  const listed = await world.operate("refusals list", { company: company.companyId })
  const [head, line] = textOf("refusals list", listed).split("\n")
  expect(head).toMatch(/^revision +at +code +charge id +item/)
  expect(line).toMatch(/spend_limit_reached +too-much +tokens/)
})

it("a head is shown with its signature", async () => {
  const found = await world.operate("audit head", { company: company.companyId })
  const { heads, publicKey } = found
  expect(heads).toHaveLength(1)
  expect(heads[0].signature).toMatch(/^[A-Za-z0-9+/]{86}==$/)
  const text = textOf("audit head", found)
  expect(text).toContain(`public key: ${publicKey}\n`)
  expect(text).toMatch(/signature\n/)
  expect(text).toContain(heads[0].signature)
})

describe("audit verify", () => {
  const skippedOf = async (input: object = {}) => {
    const found = await world.operate("audit verify", input)
    expect(found.ok).toBe(true)
    const whats = found.skipped.map(({ check }: { check: string }) => check)
    return { whats, text: textOf("audit verify", found), skipped: found.skipped }
  }

  it("says what it did not look at, and why", async () => {
    await world.operate("audit head")
    const { whats, text } = await skippedOf()
    expect(whats).toContain("jobs")
    expect(whats.join("; ")).not.toContain("checked against a signed head")
    expect(text).toMatch(
      /signed heads belong to this history +yes +\d+ streams with a signed head\n/,
    )
    expect(text).toMatch(/read model companies = rebuild +yes +companies 1 row\n/)
    expect(text).not.toContain("checksum")
    expect(whats).not.toContain("streams of other companies and of the installation")
    expect(text).toMatch(/\nNot checked:\n(.*\n)*  jobs: they are deleted when they are done/)
  })

  it("says so of streams of which no head is signed, and counts them", async () => {
    const other = await makeCompany(world)
    const { skipped, text } = await skippedOf({ company: other.companyId })
    expect(text).toMatch(/signed heads belong to this history +yes +no head is signed yet\n/)
    expect(skipped).toContainEqual({
      check: expect.stringMatching(/^streams? checked against a signed head$/),
      count: expect.toSatisfy((count: number) => count > 0),
      reason: expect.stringContaining("audit head"),
    })
  })

  it("says that of one company alone the others were left out", async () => {
    const { whats, text } = await skippedOf({ company: company.companyId })
    expect(whats).toContain("streams of other companies and of the installation")
    expect(text).toContain(
      "  streams of other companies and of the installation: the audit is of one company",
    )
  })
})
