/** The export of a company's data as one file. */
import { expect, it } from "vitest"
import { PROGRAM } from "../../src/slices.ts"
import { runCommandLine } from "../../src/frame/operator/cli/run-command-line.ts"
import { fakeHost, recordingTerminal, openFakeStores } from "../operator/fake-host.ts"
import { postText } from "../phone/text-requests.ts"
import { makeCompany, ownWorld } from "../support/world.ts"

const world = await ownWorld("time")
const company = await makeCompany(world)
const other = await makeCompany(world)
await postText(world, company.key, { to: "+14155550123", body: "our own words" })
await postText(world, other.key, { to: "+14155550124", body: "words of another" })
await world.operate("wait")

interface Line {
  readonly company?: string
  readonly stream?: string
  readonly type?: string
  readonly data?: Readonly<Record<string, unknown>>
  readonly end?: { readonly facts: number }
}

async function exported(companyId: string): Promise<readonly Line[]> {
  const host = fakeHost(PROGRAM.operations, {
    openInProcess: () => openFakeStores(PROGRAM.operations, world.ports),
  })
  const terminal = recordingTerminal()
  const words = ["company", "export", companyId, "--out", "-"]
  const code = await runCommandLine(words, host, terminal, new AbortController().signal)
  expect([code, terminal.stderr]).toEqual([0, expect.any(String)])
  return terminal.stdout
    .trimEnd()
    .split("\n")
    .map((line) => JSON.parse(line) as Line)
}

it("has every fact of the company unsealed, and no facts of another company", async () => {
  const lines = await exported(company.companyId)
  const [head, ...rest] = lines
  const facts = rest.slice(0, -1)
  expect(head?.company).toBe(company.companyId)
  expect(rest.at(-1)?.end).toEqual({ facts: facts.length, mails: 0 })
  const text = facts.find(({ type }) => type === "TextQueued")
  expect(text?.data).toMatchObject({
    to: "+14155550123",
    body: expect.stringMatching(/^our own words/) as string,
  })
  const person = facts.find(({ type }) => type === "PersonAdded")
  expect(person?.data).toMatchObject({ name: "Owner" })
  const { streams } = await world.operate("audit streams", { company: company.companyId })
  const stored = (streams as readonly { readonly events: number }[]).reduce(
    (sum, { events }) => sum + events,
    0,
  )
  expect(facts).toHaveLength(stored)
  expect(JSON.stringify(lines)).not.toMatch(/"s1\.|words of another/)
})

it("has the mails to the company's people, and no key hashes", async () => {
  const of = { company: company.companyId }
  await world.operate("funds notice", { ...of, below: "1000" })
  await world.operate("wait")
  const { mails } = await world.operate("mail list", of)
  expect(mails).toHaveLength(1)
  const lines = await exported(company.companyId)
  const facts = lines.slice(1, -2)
  expect(facts.find(({ type }) => type === "KeyCreated")?.data).toMatchObject({
    keyId: company.keyId,
    personId: company.ownerId,
  })
  expect(JSON.stringify(lines)).not.toMatch(/keyHash/)
  const [{ companyId: _of, to, ...mail }] = mails as readonly [Record<string, unknown>]
  expect(lines.at(-2)).toEqual({ mail: { ...mail, to: [to] } })
  expect(lines.at(-1)?.end).toEqual({ facts: facts.length, mails: 1 })
})

it("marks sealed texts of an erased company as erased", async () => {
  const erased = await makeCompany(world)
  await world.operate("company delete", { company: erased.companyId })
  await world.operate("clock advance", { duration: "20d" })
  await world.operate("wait")
  const facts = (await exported(erased.companyId)).slice(1, -1)
  expect(facts.find(({ type }) => type === "PersonAdded")?.data).toMatchObject({ name: "(erased)" })
})
