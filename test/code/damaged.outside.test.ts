/** A repository whose files are damaged, and clients that talk nonsense: who is told what. */
import { readdirSync, rmSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { beforeAll, describe, expect, it } from "vitest"
import { randomBytes } from "node:crypto"
import type { PackCommand } from "../../adapters/git/port.ts"
import { FLUSH, folderNameOf, pktLine } from "../../adapters/git/port.ts"
import { ownWorld } from "../support/world.ts"
import { beginPost, codeWorld, makeCodeCompany } from "./code-world.ts"

const { addressOf, codeDir, desk, server, warnings, world } = await codeWorld(
  await ownWorld("settings"),
)
const company = await makeCodeCompany(world)
await desk.right(["clone", "--quiet", addressOf(company), "own"])
await desk.commit("own", "a", randomBytes(200_000))
await desk.right(["push", "--quiet", "origin", "main"], { in: "own" })

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
    const clone = await desk.git(["clone", addressOf(company), "damaged"])
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
