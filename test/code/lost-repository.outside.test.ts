/** Messages about lost or damaged repositories, and to clients that violate the protocol. */
import { readdirSync, renameSync, rmSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { randomBytes } from "node:crypto"
import { beforeAll, beforeEach, describe, expect, it } from "vitest"
import { examineCode } from "../../src/code/examine-code.ts"
import type { DoctorStore } from "../../src/frame/operator/cli/doctor-finding.ts"
import { settingsReader } from "../../src/frame/settings.ts"
import { codeFactTypes } from "../code-checks/fake-pushes.ts"
import type { Company } from "../support/world.ts"
import { makeCompany, ownWorld } from "../support/world.ts"
import { startGitPost, codeWorld, repositoryFolder, makeCodeCompany } from "./code-world.ts"
import { writeBundle, makeWorkingCopy } from "./git.ts"
import { buildZip } from "./zips.ts"
import type { PackCommand } from "../../adapters/git/port.ts"
import { FLUSH_PACKET, repositoryFolderName, pktLine } from "../../adapters/git/port.ts"

const code = await codeWorld(await ownWorld("settings"))
const bundle = writeBundle(makeWorkingCopy(code.folder, { a: "one\n" }))
let company: Company
/** A company whose repository had a commit, and is lost. */
beforeEach(async () => {
  company = await makeCompany(code.world)
  await operate("import", { file: bundle })
  rmSync(repositoryFolder(code.codeDir, company), { recursive: true })
})

const operate = (name: string, input: object = {}) =>
  code.world.operate(`repository ${name}`, { company: company.companyId, ...input })

describe("a lost repository", () => {
  it("is not replaced by an empty one by any operation", async () => {
    const zip = join(code.folder, "some.zip")
    writeFileSync(zip, buildZip([{ name: "a", text: "a" }]))
    const before = await codeFactTypes(code.world, company)
    for (const [name, input] of [
      ["create", {}],
      ["import", { file: bundle }],
      ["upload", { file: zip }],
      ["export", {}],
    ] as const) {
      await expect(operate(name, input), name).rejects.toMatchObject({
        code: "repository_lost",
        message: expect.stringMatching(
          new RegExp(
            `${company.companyId} is missing from ${code.codeDir}.*CODE_DIR.*--replace-lost`,
          ),
        ),
      })
    }
    expect(await codeFactTypes(code.world, company)).toEqual(before)
    expect(await code.repositories.has(company.companyId)).toBe(false)
  })

  it("is created again with --replace-lost, and its code can be imported again", async () => {
    await operate("create", { replaceLost: true })
    expect((await codeFactTypes(code.world, company)).at(-1)).toBe("RefsReconciled")
    // The repository exists now, with or without the option.
    await operate("create", { replaceLost: true })
    await operate("create")
    expect(await operate("import", { file: bundle })).toMatchObject({ refs: 1 })
    expect((await codeFactTypes(code.world, company)).slice(-3)).toEqual([
      "RefsReconciled",
      "PushAccepted",
      "PushCompleted",
    ])
  })

  it("is found by doctor, through a running server and in a database without one", async () => {
    const { world, folder } = code
    const settings = settingsReader({ CODE_DIR: code.codeDir })
    const examine = (stored: DoctorStore) =>
      examineCode({ settings, dataDir: folder, stored, pacer: world.ports.pacer })
    const other = await makeCompany(world)
    await operate("create", { company: other.companyId })
    const stores: readonly DoctorStore[] = [
      { ask: (name, input) => world.operate(name, input) },
      { readAll: world.ports.readAll },
    ]
    for (const stored of stores) {
      const found = await examine(stored)
      const findings = found.filter(({ says }) => says.includes(company.companyId))
      expect(findings).toMatchObject([
        { check: "code", state: "wrong", fix: expect.stringMatching(/CODE_DIR.*--replace-lost/) },
      ])
      expect(JSON.stringify(found)).not.toContain(other.companyId)
      expect(found.every(({ state }) => state === "wrong")).toBe(true)
    }
    // Without a server and a database, doctor checks only the folder.
    expect(await examine(null)).toMatchObject([{ state: "ok" }])
    const failing: DoctorStore = { ask: () => Promise.reject(new Error("gone away")) }
    expect((await examine(failing)).at(-1)).toMatchObject({
      state: "missing",
      says: expect.stringContaining("gone away"),
    })
  })

  it("is among the first ten that doctor names, and is listed by repository list --missing", async () => {
    const { world, folder, codeDir: existing } = code
    for (let i = 0; i < 10; i += 1) {
      await operate("create", { company: (await makeCompany(world)).companyId })
    }
    renameSync(existing, `${existing}.away`)
    try {
      const stored: DoctorStore = { ask: (name, input) => world.operate(name, input) }
      const found = await examineCode({
        settings: settingsReader({ CODE_DIR: existing }),
        dataDir: folder,
        stored,
        pacer: world.ports.pacer,
      })
      expect(found.filter(({ says }) => says.includes("is missing from"))).toHaveLength(10)
      expect(found.at(-1)?.says).toMatch(
        /^\d+ more repositories are missing: run repository list --missing/,
      )
    } finally {
      renameSync(`${existing}.away`, existing)
    }
    const { repositories } = await world.operate("repository list", { missing: true })
    expect(repositories).toContainEqual({ companyId: company.companyId, isThere: false })
    const every = await world.operate("repository list")
    expect(every.repositories.length).toBeGreaterThan(repositories.length)
  })
})

const {
  addressOf,
  codeDir,
  workspace,
  server,
  warnings,
  world: ownWorldOf,
} = await codeWorld(await ownWorld("settings"))
const broken = await makeCodeCompany(ownWorldOf)
await workspace.run(["clone", "--quiet", addressOf(broken), "own"])
await workspace.commit("own", "a", randomBytes(200_000))
await workspace.run(["push", "--quiet", "origin", "main"], { folder: "own" })

describe("a client that violates the protocol", () => {
  const answerTo = async (command: PackCommand, body: string | Buffer): Promise<string> => {
    const { sent, answered } = startGitPost(server, broken, command)
    sent.end(body)
    return answered
  }

  it.each<[string, string | Buffer]>([
    ["text instead of a line", "garbage without a length"],
    ["no want", Buffer.concat([pktLine("have it all\n"), FLUSH_PACKET])],
    ["half a line", "0032want "],
  ])("gets an error in git's protocol, and no warning is logged: %s", async (_what, body) => {
    expect(await answerTo("git-upload-pack", body)).toMatch(
      /^200 [0-9a-f]{4}ERR validation: This is not a request of the git protocol/,
    )
    await answerTo("git-receive-pack", body)
    expect(warnings()).toEqual([])
  })
})

describe("a damaged repository", () => {
  beforeAll(() => {
    const packs = join(codeDir, repositoryFolderName(broken.companyId), "objects", "pack")
    for (const name of readdirSync(packs).filter((one) => one.endsWith(".pack"))) {
      rmSync(join(packs, name))
      writeFileSync(join(packs, name), randomBytes(1_000))
    }
  })

  it("fails a clone that began with 200, and logs a warning with the company", async () => {
    const clone = await workspace.git(["clone", addressOf(broken), "damaged"])
    expect(clone.code).not.toBe(0)
    await expect
      .poll(() => warnings().join("\n"))
      .toMatch(new RegExp(`git failed while ${broken.companyId} fetched code: GitFailed`))
  })

  it("fails a backup with the company and the fix", async () => {
    const folder = join(codeDir, repositoryFolderName(broken.companyId))
    await expect(ownWorldOf.operate("backup")).rejects.toMatchObject({
      code: "repository_unreadable",
      message: expect.stringMatching(
        new RegExp(`${broken.companyId} cannot be read.*${folder}.*git fsck.*--replace-lost`),
      ),
    })
  })
})
