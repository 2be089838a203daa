/** Results of limit, refusal and audit operations, as JSON and as text. */
import { describe, expect, it } from "vitest"
import { makeCompany, ownWorld } from "../support/world.ts"
import { PROGRAM } from "../../src/slices.ts"

const world = await ownWorld("time")

/** The text output of a result. */
function textOf(name: string, answer: unknown): string {
  const found = PROGRAM.operations.find((operation) => operation.name === name)
  return found?.render?.(answer, { isTTY: false, columns: 80 }) ?? ""
}

const limit = (input: object) =>
  world.operate("limit set", { company: company.companyId, class: "general", ...input })

await world.operate("clock set", { to: "2031-01-15T12:00:00.000Z" })
const company = await makeCompany(world)

describe("limit set", () => {
  it("reports that it replaced none", async () => {
    const set = await limit({ period: "month", dollars: "40" })
    expect(set).toMatchObject({ limit: { amountMicros: 40_000_000 }, replaced: null })
    expect(textOf("limit set", set)).toBe(
      "The company's general limit is $40.00 a month. It replaced none.\n" +
        "$0.00 is used, $40.00 is left; it resets at 2031-02-01T00:00:00.000Z.\n",
    )
  })

  it("reports every field of the limit that it replaced", async () => {
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

  it("replaces only the limit of the same holder and class", async () => {
    const person = { person: company.ownerId, period: "week", dollars: "3" }
    expect((await limit({ ...person, leaveKeysOut: true })).replaced).toBeNull()
    expect((await limit({ class: "ai", period: "week", dollars: "3" })).replaced).toBeNull()
    const other = await limit({ ...person, dollars: "4" })
    expect(other.replaced).toMatchObject({ amountMicros: 3_000_000, leaveKeysOut: true })
    expect(textOf("limit set", other)).toContain("It replaced $3.00 a week, without keys.\n")
  })

  it("is undone by limit remove, which reports the removed limit", async () => {
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

it("refusals list shows the charge id of each refusal", async () => {
  const spending = { class: "general", dollars: "41", item: "tokens", id: "too-much" }
  const charging = world.operate("charge", { company: company.companyId, ...spending })
  await expect(charging).rejects.toThrow(/company's general limit is .* a /)
  const listed = await world.operate("refusals list", { company: company.companyId })
  const [head, line] = textOf("refusals list", listed).split("\n")
  expect(head).toMatch(/^revision +at +code +charge id +item/)
  expect(line).toMatch(/spend_limit_reached +too-much +tokens/)
})

it("audit head shows each head with its signature", async () => {
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
    const checks = found.skipped.map(({ check }: { check: string }) => check)
    return { checks, text: textOf("audit verify", found), skipped: found.skipped }
  }

  it("reports what it did not check, and why", async () => {
    await world.operate("audit head")
    const { checks, text } = await skippedOf()
    expect(checks).toContain("jobs")
    expect(checks.join("; ")).not.toContain("checked against a signed head")
    expect(text).toMatch(
      /signed heads belong to this history +yes +\d+ streams with a signed head\n/,
    )
    expect(text).toMatch(/read model companies = rebuild +yes +companies 1 row\n/)
    expect(text).not.toContain("checksum")
    expect(checks).not.toContain("streams of other companies and of the installation")
    expect(text).toMatch(/\nNot checked:\n(.*\n)*  jobs: they are deleted when they are done/)
  })

  it("counts streams that have no signed head", async () => {
    const other = await makeCompany(world)
    const { skipped, text } = await skippedOf({ company: other.companyId })
    expect(text).toMatch(/signed heads belong to this history +yes +no head is signed yet\n/)
    expect(skipped).toContainEqual({
      check: expect.stringMatching(/^streams? checked against a signed head$/),
      count: expect.toSatisfy((count: number) => count > 0),
      reason: expect.stringContaining("audit head"),
    })
  })

  it("reports that an audit of one company left out the others", async () => {
    const { checks, text } = await skippedOf({ company: company.companyId })
    expect(checks).toContain("streams of other companies and of the installation")
    expect(text).toContain(
      "  streams of other companies and of the installation: the audit is of one company",
    )
  })
})
