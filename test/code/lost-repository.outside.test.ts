/** Repositories that are lost or damaged, and clients that talk nonsense: who is told what. */
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
/** A company whose repository held something, and is lost. */
beforeEach(async () => {
  company = await makeCompany(code.world)
  await operate("import", { file: bundle })
  rmSync(repositoryFolder(code.codeDir, company), { recursive: true })
})

const operate = (name: string, input: object = {}) =>
  code.world.operate(`repository ${name}`, { company: company.companyId, ...input })

describe("a lost repository", () => {
  it("is not hidden by an empty one, whatever would make it", async () => {
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

  it("is made anew by who means it, and takes its code in again", async () => {
    await operate("create", { replaceLost: true })
    expect((await codeFactTypes(code.world, company)).at(-1)).toBe("RefsReconciled")
    // Again, or without that word: it is there.
    await operate("create", { replaceLost: true })
    await operate("create")
    expect(await operate("import", { file: bundle })).toMatchObject({ refs: 1 })
    expect((await codeFactTypes(code.world, company)).slice(-3)).toEqual([
      "RefsReconciled",
      "PushAccepted",
      "PushCompleted",
    ])
  })

  it("is found by doctor, at the server that runs and in a database without one", async () => {
    const { world, folder } = code
    const settings = settingsReader({ CODE_DIR: code.codeDir })
    const look = (stored: DoctorStore) =>
      examineCode({ settings, dataDir: folder, stored, pacer: world.ports.pacer })
    const kept = await makeCompany(world)
    await operate("create", { company: kept.companyId })
    const waysToAsk: readonly DoctorStore[] = [
      { ask: (name, input) => world.operate(name, input) },
      { readAll: world.ports.readAll },
    ]
    for (const stored of waysToAsk) {
      const found = await look(stored)
      const about = found.filter(({ says }) => says.includes(company.companyId))
      expect(about).toMatchObject([
        { check: "code", state: "wrong", fix: expect.stringMatching(/CODE_DIR.*--replace-lost/) },
      ])
      expect(JSON.stringify(found)).not.toContain(kept.companyId)
      expect(found.every(({ state }) => state === "wrong")).toBe(true)
    }
    // Nothing runs: the folder alone is looked at.
    expect(await look(null)).toMatchObject([{ state: "ok" }])
    const asking: DoctorStore = { ask: () => Promise.reject(new Error("gone away")) }
    expect((await look(asking)).at(-1)).toMatchObject({
      state: "missing",
      says: expect.stringContaining("gone away"),
    })
  })

  it("is named by ten where all are missing, and listed by the operator's command", async () => {
    const { world, folder } = code
    const all = code.codeDir
    for (let i = 0; i < 10; i += 1) {
      await operate("create", { company: (await makeCompany(world)).companyId })
    }
    renameSync(all, `${all}.away`)
    try {
      const stored: DoctorStore = { ask: (name, input) => world.operate(name, input) }
      const found = await examineCode({
        settings: settingsReader({ CODE_DIR: all }),
        dataDir: folder,
        stored,
        pacer: world.ports.pacer,
      })
      expect(found.filter(({ says }) => says.includes("is missing from"))).toHaveLength(10)
      expect(found.at(-1)?.says).toMatch(
        /^\d+ more repositories are missing: run repository list --missing/,
      )
    } finally {
      renameSync(`${all}.away`, all)
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
  desk,
  server,
  warnings,
  world: ownWorldOf,
} = await codeWorld(await ownWorld("settings"))
const broken = await makeCodeCompany(ownWorldOf)
await desk.right(["clone", "--quiet", addressOf(broken), "own"])
await desk.commit("own", "a", randomBytes(200_000))
await desk.right(["push", "--quiet", "origin", "main"], { folder: "own" })

describe("a client that talks nonsense", () => {
  const said = async (command: PackCommand, body: string | Buffer): Promise<string> => {
    const { sent, answered } = startGitPost(server, broken, command)
    sent.end(body)
    return answered
  }

  it.each<[string, string | Buffer]>([
    ["what is no line of git's", "garbage that nobody asked for"],
    ["no wish", Buffer.concat([pktLine("have it all\n"), FLUSH_PACKET])],
    ["half a line", "0032want "],
  ])("is told so in git's own words, and the log is not filled: %s", async (_what, body) => {
    expect(await said("git-upload-pack", body)).toMatch(
      /^200 [0-9a-f]{4}ERR validation: This is not a request of the git protocol/,
    )
    await said("git-receive-pack", body)
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

  it("is a warning of the log with the company, though the clone began with 200", async () => {
    const clone = await desk.git(["clone", addressOf(broken), "damaged"])
    expect(clone.code).not.toBe(0)
    await expect
      .poll(() => warnings().join("\n"))
      .toMatch(new RegExp(`git failed while ${broken.companyId} fetched code: GitFailed`))
  })

  it("stops a backup, which says of which company and what to do", async () => {
    const folder = join(codeDir, repositoryFolderName(broken.companyId))
    await expect(ownWorldOf.operate("backup")).rejects.toMatchObject({
      code: "repository_unreadable",
      message: expect.stringMatching(
        new RegExp(`${broken.companyId} cannot be read.*${folder}.*git fsck.*--replace-lost`),
      ),
    })
  })
})
