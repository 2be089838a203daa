/** A repository whose files are damaged, and clients that talk nonsense: who is told what. */
import { mkdtempSync, readdirSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest"
import { randomBytes } from "node:crypto"
import type { PackCommand } from "../../adapters/git/port.ts"
import { FLUSH, folderNameOf, pktLine } from "../../adapters/git/port.ts"
import type { World } from "../support/world.ts"
import { openWorld } from "../support/world.ts"
import type { CodeCompany, Desk } from "./git.ts"
import { beginPost, codeAddress, listenTo, makeCodeCompany, openDesk } from "./git.ts"

let world: World
let server: string
let desk: Desk
let codeDir: string
let company: CodeCompany
let seen: number
beforeAll(async () => {
  desk = await openDesk()
  codeDir = mkdtempSync(join(tmpdir(), "ledger-damaged-"))
  world = await openWorld("settings", { settings: { CODE_DIR: codeDir } })
  server = await listenTo(world)
  company = await makeCodeCompany(world)
  await desk.right(["clone", "--quiet", addressOf(), "own"])
  await desk.commit("own", "a", randomBytes(200_000))
  await desk.right(["push", "--quiet", "origin", "main"], { in: "own" })
})
beforeEach(() => {
  seen = world.warnings.length
})
afterAll(async () => {
  await world.close()
  await desk.clear()
  rmSync(codeDir, { recursive: true })
})

const addressOf = () => codeAddress(server, { user: company.name, key: company.key })
const warnings = () => world.warnings.slice(seen)

describe("a client that talks nonsense", () => {
  const said = async (command: PackCommand, body: string | Buffer): Promise<string> => {
    const { sent, answered } = beginPost(server, company, command)
    sent.end(body)
    return answered
  }

  it.each<[string, string | Buffer]>([
    ["what is no line of git's", "garbage that nobody asked for"],
    ["no wish", Buffer.concat([pktLine("have it all\n"), FLUSH])],
    ["half a line", "0032want "],
  ])("is told so in git's own words, and the log is not filled: %s", async (_what, body) => {
    expect(await said("git-upload-pack", body)).toMatch(
      /^200 [0-9a-f]{4}ERR validation: This is no question of git's/,
    )
    await said("git-receive-pack", body)
    expect(warnings()).toEqual([])
  })
})

describe("a damaged repository", () => {
  beforeAll(() => {
    const packs = join(codeDir, folderNameOf(company.companyId), "objects", "pack")
    for (const name of readdirSync(packs).filter((one) => one.endsWith(".pack"))) {
      rmSync(join(packs, name))
      writeFileSync(join(packs, name), randomBytes(1_000))
    }
  })

  it("is a warning of the log with the company, though the clone began with 200", async () => {
    const clone = await desk.git(["clone", addressOf(), "damaged"])
    expect(clone.code).not.toBe(0)
    await expect
      .poll(() => warnings().join("\n"))
      .toMatch(new RegExp(`gave up a fetch of the code of ${company.companyId}: GitFailed`))
  })

  it("stops a backup, which says of which company and what to do", async () => {
    const folder = join(codeDir, folderNameOf(company.companyId))
    await expect(world.operate("backup")).rejects.toMatchObject({
      code: "repository_unreadable",
      message: expect.stringMatching(
        new RegExp(`${company.companyId} cannot be read.*${folder}.*git fsck.*--anew`),
      ),
    })
  })
})
