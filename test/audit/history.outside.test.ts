import { ledgerStreamOf, refusalsStreamOf } from "../../domain/charging/aggregates.ts"
import { mkdir, mkdtemp, readFile, rm, writeFile } from "node:fs/promises"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { afterAll, describe, expect, it } from "vitest"
import { PROGRAM } from "../../src/slices.ts"
import { runCommandLine } from "../../src/frame/operator/cli/run-command-line.ts"
import { collectEvents } from "../contracts/event-store-fixture.ts"
import { fakeHost, recordingTerminal, openFakeStores } from "../operator/fake-host.ts"
import { makeCompany, ownWorld, setLimit } from "../support/world.ts"
import { rehashChainStatements, withTamperedRows } from "./tampering.ts"

const TO = "+14155550123"

const folder = await mkdtemp(join(tmpdir(), "ledger-audit-"))
const world = await ownWorld("time")
const company = await makeCompany(world)
await makeCompany(world)
await setLimit(world, company, {
  key: company.keyId,
  period: "day",
  dollars: "0.0372",
  reminders: ["0.009"],
})
for (let i = 0; i < 5; i += 1) {
  const body = { to: TO, body: `text ${i}` }
  await world.call(company.key, "POST", "/api/v1/phone/messages", { body })
}
await world.operate("wait")
await world.operate("clock advance", { duration: "1d" })
await world.operate("funds notice", { company: company.companyId, below: "49.5" })
await world.operate("charge", {
  company: company.companyId,
  class: "ai",
  dollars: "1",
  item: "chat",
})
await world.operate("clock advance", { duration: "40d" })
await world.operate("wait")
afterAll(async () => {
  await rm(folder, { recursive: true, force: true })
})

/** Runs a command line on the world's stores. */
async function run(...words: readonly string[]) {
  const host = fakeHost(PROGRAM.operations, {
    openInProcess: () => openFakeStores(PROGRAM.operations, world.ports),
  })
  const terminal = recordingTerminal()
  const code = await runCommandLine(words, host, terminal, new AbortController().signal)
  const json = words.includes("--json") ? JSON.parse(terminal.stdout) : null
  return { code, json, out: terminal.stdout, err: terminal.stderr, calls: host.calls }
}

const at = (name: string) => join(folder, name)
const exported = async (name: string, ...words: readonly string[]) =>
  run("audit", "export", ...words, "--out", at(name), "--json")

describe("a replay", () => {
  it("decides every charge and refusal again, including closed months and nightly charges", async () => {
    const { code, json } = await run("audit", "replay", "--json")
    expect(json).toMatchObject({ ok: true, companies: 2, differences: 0, first: null })
    expect(json.refusals).toBe(1)
    expect(code).toBe(0)
    const types = (
      await collectEvents(world.ports.store.read(ledgerStreamOf(company.companyId).stream))
    ).map(({ type }) => type)
    expect(types).toEqual(
      expect.arrayContaining(["MonthClosed", "ReminderReached", "LowFundsReached"]),
    )
    const ofCompany = await run("audit", "replay", "--company", company.companyId)
    expect(ofCompany.out).toContain("Every decision is the same.")
  })

  it("shows the first decision that differs as a diff, for a charge and for a refusal", async () => {
    const stream = ledgerStreamOf(company.companyId).stream
    const lowered = await rehashChainStatements(world, stream, (event) =>
      event.type === "FundsAdded"
        ? { ...event, data: event.data.replace('"50000000"', '"5000"') }
        : event,
    )
    const charge = await withTamperedRows(world, lowered, () => run("audit", "replay", "--json"))
    expect(charge.code).toBe(1)
    expect(charge.json.first).toMatchObject({ stream, expected: { code: "payment_required" } })

    const refusals = refusalsStreamOf(company.companyId).stream
    const changed = await rehashChainStatements(world, refusals, (event) => ({
      ...event,
      data: event.data.replace('"usedMicros":"36', '"usedMicros":"35'),
    }))
    const refusal = await withTamperedRows(world, changed, () => run("audit", "replay"))
    expect(refusal.code).toBe(1)
    expect(refusal.out).toMatch(/1 decision differs. .* the refusal of chg_/)
    expect(refusal.out).toMatch(/\n- +"usedMicros": 35.*\n\+ +"usedMicros": 36/)
  })

  it("shows the decisions of other rules that differ from the history", async () => {
    const rules = at("rules")
    await writeFile(
      at("ledger.mjs"),
      `export const ledgerDecider = {
        initial: () => ({ facts: 0 }),
        evolve: (state) => ({ facts: state.facts + 1 }),
        decide: (command) => command.class === "ai"
          ? { type: "No", at: command.at, code: "no_ai" }
          : [{ type: "Charged", at: command.at }],
      }`,
    )
    const { code, json } = await run("audit", "replay", "--rules", folder, "--json")
    expect(code).toBe(0)
    expect(json.others).toEqual(
      [
        expect.objectContaining({ stored: "spend_limit_reached", decided: "accepted" }),
        expect.objectContaining({ item: "chat", stored: "accepted", decided: "no_ai" }),
      ].slice(json.undecidable),
    )
    expect(json.differences + json.undecidable).toBe(2)
    const broken =
      "export const ledgerDecider = { initial: () => 0, evolve: () => 0, decide: () => { throw new Error('x') } }"
    await mkdir(at("broken"))
    await writeFile(join(at("broken"), "ledger.mjs"), broken)
    const thrown = await run("audit", "replay", "--rules", at("broken"))
    expect(thrown.err).toMatch(/The rules of .*broken.* cannot decide charge \S+ of co_\S+ .*: x/)
    expect(thrown.err).not.toContain("fault of the program")
    const none = await run("audit", "replay", "--rules", rules)
    expect(none).toMatchObject({ code: 1 })
    expect(none.err).toContain("There is no folder")
  })

  it("can use the rules of a commit, here the program's own", async () => {
    const { code, json } = await run("audit", "replay", "--rules", "HEAD", "--json")
    expect(json).toMatchObject({ differences: 0, undecidable: 0, facts: expect.any(Number) })
    expect(code).toBe(0)
  })
})

describe("an export", () => {
  it("is checked and replayed from the file alone, and is the same for the same range", async () => {
    const first = await exported("a.ndjson")
    expect(first.code).toBe(0)
    const checked = await run("audit", "check", at("a.ndjson"), "--json")
    expect(checked.json).toMatchObject({ ok: true, kind: "export", events: first.json.events })
    expect(checked.calls).toEqual([])
    const replayed = await run("audit", "replay", "--file", at("a.ndjson"), "--json")
    expect(replayed.json).toMatchObject({ ok: true, companies: 2, differences: 0, refusals: 1 })
    expect(replayed.calls).toEqual([])

    const ofCompany = await exported("b.ndjson", "--company", company.companyId)
    const [head] = ofCompany.json.heads
    expect(head).toMatchObject({ tree: company.companyId, size: ofCompany.json.events })
    await world.operate("funds add", { company: company.companyId, dollars: "1" })
    const range = ["--company", company.companyId, "--to", head.position]
    await exported("c.ndjson", ...range)
    const bytes = await readFile(at("b.ndjson"))
    expect(bytes.equals(await readFile(at("c.ndjson")))).toBe(true)
    const { publicKey } = head
    const pinned = await run("audit", "check", at("b.ndjson"), "--public-key", publicKey)
    expect(pinned.code).toBe(0)
    const otherKey = await run(
      "audit",
      "check",
      at("b.ndjson"),
      "--public-key",
      `${"A".repeat(43)}=`,
    )
    expect(otherKey).toMatchObject({ code: 1 })
    expect(otherKey.err).toContain("expected a signature by AAAA")
  })

  it("is rejected with a message if the file cannot be read or lacks the company", async () => {
    await exported("e.ndjson")
    const options = ["--file", at("e.ndjson"), "--company", "nosuch", "--json"]
    const none = await run("audit", "replay", ...options)
    expect(none).toMatchObject({ code: 1, json: { error: "not_found" } })
    for (const path of [folder, at("nowhere")]) {
      const unread = await run("audit", "check", path, "--json")
      expect(unread).toMatchObject({ code: 1, json: { error: "cannot_read" } })
      expect(unread.err).not.toContain("fault of the program")
    }
  })

  it("is rejected for an invalid position", async () => {
    for (const to of ["zzzzzzzzz", "9-1", "Ü"]) {
      const refused = await exported("d.ndjson", "--to", to)
      expect(refused).toMatchObject({ code: 1, json: { error: "validation" } })
      await expect(readFile(at("d.ndjson"))).rejects.toThrow("ENOENT")
    }
  })
})

describe("signed heads", () => {
  it("detect a rewritten history with valid hashes, and a truncated stream", async () => {
    const { json } = await run("audit", "head", "--company", company.companyId, "--json")
    const [head] = json.heads
    expect(head.signature).toHaveLength(88)
    const stream = ledgerStreamOf(company.companyId).stream
    const rewritten = await rehashChainStatements(world, stream, (event) =>
      event.type === "LedgerOpened"
        ? { ...event, data: event.data.replace('"creditLineMicros":"0"', '"creditLineMicros":"1"') }
        : event,
    )
    const verify = (...words: readonly string[]) => run("audit", "verify", ...words, "--json")
    const found = await withTamperedRows(world, rewritten, () => verify())
    const bad = found.json.checks.filter((one: { ok: boolean }) => !one.ok)
    const names = bad.map((one: { name: string }) => one.name)
    expect(names).toContain("signed heads belong to this history")
    expect(names).not.toContain("hashes chain")

    // An auditor's note detects it even without the stored heads.
    expect(await verify("--head", head.root)).toMatchObject({ code: 0, json: { ok: true } })
    const all = await collectEvents(world.ports.store.read(stream))
    const last = all.at(-1) as (typeof all)[number]
    const { hash } = JSON.parse(last.metadata)
    expect(await verify("--head", hash)).toMatchObject({ code: 0, json: { ok: true } })
    const cut = [
      `delete from eventstore.events where stream = '${stream}' and revision = ${last.revision}`,
    ]
    for (const noted of [head.root, hash]) {
      const short = await withTamperedRows(world, cut, () => verify("--head", noted))
      const lost = short.json.checks.find(
        (one: { name: string }) => one.name === "signed heads belong to this history",
      )
      expect(lost).toMatchObject({ ok: false })
    }
  })

  it("have the current time and size, even when the size gains a digit", async () => {
    const of = { company: company.companyId }
    const signed = async (): Promise<{ size: number; at: string }> => {
      const { json } = await run("audit", "head", "--company", of.company, "--json")
      return json.heads[0]
    }
    const before = await signed()
    const grown = 10 ** String(before.size).length
    await world.operate("clock advance", { duration: "1h" })
    for (let size = before.size; size < grown; size += 1) {
      await world.operate("funds add", { ...of, dollars: "0.01" })
    }
    const now = await signed()
    expect(now.size).toBeGreaterThanOrEqual(grown)
    expect(Date.parse(now.at)).toBe(world.ports.clock.now())
    const sizes = (await world.ports.treeHeads.list(company.companyId)).map(({ size }) => size)
    expect(sizes).toEqual(sizes.toSorted((one, other) => one - other))
    expect(sizes).toEqual(expect.arrayContaining([before.size, now.size]))
  })

  it("are signed automatically once each UTC day", async () => {
    const before = await world.ports.treeHeads.list(company.companyId)
    await world.operate("clock advance", { duration: "1d" })
    await world.operate("funds add", { company: company.companyId, dollars: "1" })
    await world.operate("clock advance", { duration: "1d" })
    await world.operate("clock advance", { duration: "1h" })
    const after = await world.ports.treeHeads.list(company.companyId)
    expect(after.length).toBeGreaterThan(before.length)
    expect(after.length).toBeLessThan(before.length + 4)
  })
})

describe("a proof", () => {
  it("of a charge and of a refusal is checked with only the public key", async () => {
    const stream = ledgerStreamOf(company.companyId).stream
    const events = await collectEvents(world.ports.store.read(stream))
    const charged = events.find(({ type }) => type === "Charged")
    const refused = (
      await collectEvents(world.ports.store.read(refusalsStreamOf(company.companyId).stream))
    )[0]
    const { publicKey } = (await run("audit", "head", "--json")).json
    for (const event of [charged, refused]) {
      const { chargeId } = JSON.parse(event?.data ?? "{}")
      const made = await run("audit", "proof", chargeId, "--out", at("p.json"), "--json")
      expect(made).toMatchObject({ code: 0, json: { type: event?.type } })
      const checked = await run("audit", "check", at("p.json"), "--public-key", publicKey, "--json")
      expect(checked.json).toMatchObject({ ok: true, kind: "proof", chargeId })
    }
    const missing = await run("audit", "proof", "chg_none", "--out", at("q.json"), "--json")
    expect(missing).toMatchObject({ code: 1, json: { error: "not_found" } })
  })

  it("has the decision's inputs, and the heads before it", async () => {
    const charge = {
      company: company.companyId,
      class: "general",
      dollars: "2",
      item: "x",
      id: "mine",
    }
    await world.operate("charge", charge)
    await run("audit", "proof", "mine", "--out", at("p.json"))
    const proof = JSON.parse(await readFile(at("p.json"), "utf8"))
    expect(proof.inputs).toMatchObject({ locked: false, limits: [], prepaidOnly: false })
    expect(proof.inputs.fundsMicros).toBeGreaterThan(2_000_000)
    expect(proof.inputs.events.map((one: { type: string }) => one.type)).toContain("LedgerOpened")
    expect(proof.consistency.length).toBeGreaterThan(0)
    expect((await run("audit", "check", at("p.json"))).code).toBe(0)
  })
})
