/** What a clone or a push is counted as, and what stops it after it was counted. */
import { beforeEach, expect, it } from "vitest"
import { FLUSH, pktLine } from "../../adapters/git/port.ts"
import { callsOf } from "../support/world.ts"
import type { CodeCompany } from "./code-world.ts"
import { codeWorld, makeCodeCompany } from "./code-world.ts"

const here = await codeWorld()
let company: CodeCompany
let tip: string
beforeEach(async () => {
  company = await makeCodeCompany(here.world)
  const folder = `of ${company.companyId}`
  await here.desk.right(["init", "--quiet", folder])
  tip = await here.desk.commit(folder, "a", "a\n")
  await here.desk.right(["push", "--quiet", here.addressOf(company), "main"], { in: folder })
})

/** Asks for a pack without having asked for the refs; the answer's first bytes. */
async function askPack(): Promise<string> {
  const { name, key } = company
  const path = `/git/${encodeURIComponent(name)}.git/git-upload-pack`
  const want = pktLine(`want ${tip} ofs-delta\n`)
  const answer = await fetch(`${here.server}${path}`, {
    method: "POST",
    headers: {
      authorization: `Basic ${Buffer.from(`${name}:${key}`).toString("base64")}`,
      "content-type": "application/x-git-upload-pack-request",
    },
    body: Buffer.concat([want, FLUSH, pktLine("done\n")]),
  })
  return Buffer.from(await answer.arrayBuffer()).toString("latin1")
}

const refs = () => here.desk.right(["ls-remote", here.addressOf(company)])
const clone = () => {
  const into = `clone-${(clones += 1)}`
  return here.desk.git(["clone", "--quiet", here.addressOf(company), into])
}
let clones = 0
const limitTo = (calls: number, { class: of, key }: { class?: string; key?: string }) =>
  here.world.operate("limit set", {
    company: company.companyId,
    period: key === undefined ? "month" : "day",
    dollars: String(calls / 10_000),
    ...(of === undefined ? {} : { class: of }),
    ...(key === undefined ? {} : { key }),
  })
const PACK = /PACK/

it("no more packs are sent than calls are counted, at once or one behind the other", async () => {
  const before = await callsOf(here.world, company)
  await refs()
  expect(await callsOf(here.world, company)).toBe(before + 1)
  // What was counted already is sent; everything else is a call of its own.
  for (let i = 0; i < 3; i += 1) expect(await askPack()).toMatch(PACK)
  expect(await callsOf(here.world, company)).toBe(before + 3)
  const answers = await Promise.all([askPack(), askPack(), askPack()])
  for (const answer of answers) expect(answer).toMatch(PACK)
  expect(await callsOf(here.world, company)).toBe(before + 6)
})

it("one clone, fetch, shallow clone or push is one call", async () => {
  const folder = `of ${company.companyId}`
  const address = here.addressOf(company)
  const counted = async (args: readonly string[]) => {
    const before = await callsOf(here.world, company)
    await here.desk.right(args, { in: folder })
    return (await callsOf(here.world, company)) - before
  }
  await here.desk.commit(folder, "b", "b\n")
  expect(await counted(["push", "--quiet", address, "main"])).toBe(1)
  expect(await counted(["clone", "--quiet", address, "whole"])).toBe(1)
  expect(await counted(["clone", "--quiet", "--depth=1", address, "shallow"])).toBe(1)
  expect(await counted(["-c", "protocol.version=0", "clone", "--quiet", address, "old"])).toBe(1)
  expect(await counted(["fetch", "--quiet", address, "main"])).toBe(1)
  expect(await counted(["ls-remote", "--quiet", address])).toBe(1)
})

it("the last call that a limit allows is a whole clone; the next one is told why not", async () => {
  const before = await callsOf(here.world, company)
  await limitTo(before + 1, { class: "general" })
  expect((await clone()).code).toBe(0)
  expect((await clone()).stderr).toContain("remote: spend_limit_reached")
})

it("so it is with a key's own limit", async () => {
  await limitTo((await callsOf(here.world, company)) + 2, { key: company.keyId })
  expect((await clone()).code).toBe(0)
  const folder = `of ${company.companyId}`
  await here.desk.commit(folder, "c", "c\n")
  const pushing = ["push", "--quiet", here.addressOf(company), "main"]
  expect((await here.desk.git(pushing, { in: folder })).code).toBe(0)
  expect((await clone()).code).toBe(128)
})

it("a limit that is used up, and a lock, stop what nobody has asked for", async () => {
  await limitTo(0, { class: "general" })
  expect(await askPack()).toContain("ERR spend_limit_reached")
  await limitTo(1_000, { class: "general" })
  await refs()
  await here.world.operate("company lock", { company: company.companyId })
  expect(await askPack()).toContain("ERR payment_required")
})
