/** A repository that the facts know and whose folder is not there: nothing hides that, until somebody means it. */
import { renameSync, rmSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { beforeEach, describe, expect, it } from "vitest"
import { examineCode } from "../../src/code/examine-code.ts"
import type { Stored } from "../../src/frame/operator/examined.ts"
import { settingsIn } from "../../src/frame/settings.ts"
import { codeFacts } from "../code-checks/pretended.ts"
import type { Company } from "../support/world.ts"
import { makeCompany, ownWorld } from "../support/world.ts"
import { codeWorld, folderOf } from "./code-world.ts"
import { bundleOf, workingCopy } from "./git.ts"
import { zipOf } from "./zips.ts"

const code = await codeWorld(await ownWorld("settings"))
const bundle = bundleOf(workingCopy(code.folder, { a: "one\n" }))
let company: Company
/** A company whose repository held something, and is lost. */
beforeEach(async () => {
  company = await makeCompany(code.world)
  await operate("import", { file: bundle })
  rmSync(folderOf(code.codeDir, company), { recursive: true })
})

const operate = (name: string, input: object = {}) =>
  code.world.operate(`repository ${name}`, { company: company.companyId, ...input })

describe("a lost repository", () => {
  it("is not hidden by an empty one, whatever would make it", async () => {
    const zip = join(code.folder, "some.zip")
    writeFileSync(zip, zipOf([{ name: "a", text: "a" }]))
    const before = await codeFacts(code.world, company)
    for (const [name, input] of [
      ["create", {}],
      ["import", { file: bundle }],
      ["upload", { file: zip }],
      ["export", {}],
    ] as const) {
      await expect(operate(name, input), name).rejects.toMatchObject({
        code: "repository_lost",
        message: expect.stringMatching(
          new RegExp(`${company.companyId}, and ${code.codeDir} has none.*CODE_DIR.*--anew`),
        ),
      })
    }
    expect(await codeFacts(code.world, company)).toEqual(before)
    expect(await code.repositories.has(company.companyId)).toBe(false)
  })

  it("is made anew by who means it, and takes its code in again", async () => {
    await operate("create", { anew: true })
    expect((await codeFacts(code.world, company)).at(-1)).toBe("RefsFound")
    // Again, or without that word: it is there.
    await operate("create", { anew: true })
    await operate("create")
    expect(await operate("import", { file: bundle })).toMatchObject({ refs: 1 })
    expect((await codeFacts(code.world, company)).slice(-3)).toEqual([
      "RefsFound",
      "PushAccepted",
      "PushLanded",
    ])
  })

  it("is found by doctor, at the server that runs and in a database without one", async () => {
    const { world, folder } = code
    const settings = settingsIn({ CODE_DIR: code.codeDir })
    const look = (stored: Stored) =>
      examineCode({ settings, dataDir: folder, stored, pacer: world.ports.pacer })
    const kept = await makeCompany(world)
    await operate("create", { company: kept.companyId })
    const waysToAsk: readonly Stored[] = [
      { ask: (name, input) => world.operate(name, input) },
      { readAll: world.ports.readAll },
    ]
    for (const stored of waysToAsk) {
      const found = await look(stored)
      const about = found.filter(({ says }) => says.includes(company.companyId))
      expect(about).toMatchObject([
        { check: "code", state: "wrong", fix: expect.stringMatching(/CODE_DIR.*--anew/) },
      ])
      expect(JSON.stringify(found)).not.toContain(kept.companyId)
      expect(found.every(({ state }) => state === "wrong")).toBe(true)
    }
    // Nothing runs: the folder alone is looked at.
    expect(await look(null)).toMatchObject([{ state: "ok" }])
    const asking: Stored = { ask: () => Promise.reject(new Error("gone away")) }
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
      const stored: Stored = { ask: (name, input) => world.operate(name, input) }
      const found = await examineCode({
        settings: settingsIn({ CODE_DIR: all }),
        dataDir: folder,
        stored,
        pacer: world.ports.pacer,
      })
      expect(found.filter(({ says }) => says.includes("the facts know"))).toHaveLength(10)
      expect(found.at(-1)?.says).toMatch(/^\d+ more are missing: repository list --missing/)
    } finally {
      renameSync(`${all}.away`, all)
    }
    const { repositories } = await world.operate("repository list", { missing: true })
    expect(repositories).toContainEqual({ companyId: company.companyId, isThere: false })
    const every = await world.operate("repository list")
    expect(every.repositories.length).toBeGreaterThan(repositories.length)
  })
})
