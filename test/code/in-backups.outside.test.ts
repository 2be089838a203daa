/** Repositories in backups and restores, in an erasure, and packed from time to time. */
import type { RecordedFactOf } from "../../src/frame/effects/reaction.ts"
import { createReadStream, existsSync, readdirSync } from "node:fs"
import { beforeEach, describe, expect, it, vi } from "vitest"
import { GitUnavailable } from "../../adapters/git/port.ts"
import { repositoryBackups } from "../../src/code/repository-backups.ts"
import { maintainRepository } from "../../src/code/reactions.ts"
import { pendingJobsOf } from "../effects/texts.ts"
import type { Company } from "../support/world.ts"
import { makeCompany, ownWorld } from "../support/world.ts"
import { codeWorld, openCodeWorld } from "./code-world.ts"
import { writeBundle, commitFiles, makeWorkingCopy } from "./git.ts"
import { openGit } from "../../adapters/git/git.ts"
import { openBackups } from "../storage/used-installation.ts"
import { queryRows } from "../support/embedded-postgres.ts"
import { partialFake } from "../support/partial-fake.ts"

const BUNDLE = "repository-bundle"

const code = await codeWorld(await ownWorld("store"))
let company: Company
beforeEach(async () => {
  company = await makeCompany(code.world)
})

const operate = (name: string, input: object = {}) =>
  code.world.operate(name, { company: company.companyId, ...input })
const say = () => undefined
const { backUp, closing, codeDir, database, restore } = openBackups()
const { signal } = new AbortController()

/** The facts about the company's code, by their types. */
async function facts(): Promise<readonly string[]> {
  const { events } = await code.world.operate("audit show", { stream: `code-${company.companyId}` })
  return events.map(({ type }: { readonly type: string }) => type)
}

/** Gives the company a repository with one commit; answers its working copy. */
async function filled(): Promise<string> {
  const copy = makeWorkingCopy(code.folder, { "a.txt": "one\n" })
  await operate("repository import", { file: writeBundle(copy) })
  return copy
}

/** Does what a backup does, and leaves the blobs: the database is then as a restored one. */
async function asRestored(): Promise<void> {
  await repositoryBackups.stage(code.world.ports, say, signal)
}

describe("a backup", () => {
  it("holds each repository while it is written, and leaves nothing of it behind", async () => {
    const { blobs, externalBackup } = code.world.ports
    await filled()
    const other = await makeCompany(code.world)
    await code.world.operate("repository create", { company: other.companyId })
    let takeOut: (() => Promise<void>) | null = null
    const { text } = await backUp(code.world, {
      putIn: async () => void (takeOut = await externalBackup.stage(say, signal)),
    })
    expect(text).toContain(
      `"company_id":"${company.companyId}","subject":"company","blob_id":"${BUNDLE}"`,
    )
    const lines = text.split("\n").map((line) => line.split(" ")[1])
    expect(lines.lastIndexOf("events")).toBeLessThan(lines.indexOf("blobs"))
    expect((await blobs.find(other.companyId, BUNDLE))?.length).toBe(0)
    const second = externalBackup.stage(say, signal)
    await expect(second).rejects.toMatchObject({ code: "busy" })
    await (takeOut as (() => Promise<void>) | null)?.()
    expect(await blobs.findCompanies(BUNDLE)).toEqual([])
  })

  it("by the operator's command leaves no blob", async () => {
    await filled()
    expect((await code.world.operate("backup")).ok).toBe(true)
    expect(await code.world.ports.blobs.findCompanies(BUNDLE)).toEqual([])
  })

  it("fails where a repository cannot be read, rather than to lack it", async () => {
    await filled()
    const fault = new GitUnavailable("git cannot be run")
    vi.spyOn(code.repositories, "bundle").mockRejectedValue(fault)
    await expect(code.world.operate("backup")).rejects.toThrow("git cannot be run")
  })
})

describe("a restore", () => {
  it("makes the repositories anew, and says what the facts do not know of", async () => {
    const copy = await filled()
    // It came behind the events of the backup: what is restored is never older than those.
    const late = commitFiles(copy, { "b.txt": "two\n" })
    const { companyId } = company
    const all = async () => ({ ok: true }) as const
    await code.repositories.importBundle(companyId, createReadStream(writeBundle(copy)), all)
    await asRestored()
    await code.repositories.erase(companyId)
    const { externalBackup, blobs } = code.world.ports
    await externalBackup.restore(say)
    expect(await code.repositories.listRefs(companyId)).toEqual([
      { ref: "refs/heads/main", id: late },
    ])
    expect((await facts()).at(-1)).toBe("RefsReconciled")
    expect(await blobs.find(companyId, BUNDLE)).toBeNull()
  })

  it("that was cut short before the repositories goes on at the next start", async () => {
    await filled()
    const { companyId } = company
    const tips = await code.repositories.listRefs(companyId)
    await asRestored()
    const there = await openCodeWorld({ url: code.world.databaseUrl })
    await there.world.ports.runHousekeeping()
    expect(await there.repositories.listRefs(companyId)).toEqual(tips)
    await there.close()
  })

  it("that is not finished is finished before the next backup, or that one fails and loses nothing", async () => {
    await filled()
    const { companyId } = company
    const tips = await code.repositories.listRefs(companyId)
    await asRestored()
    await code.repositories.erase(companyId)
    const taking = vi.spyOn(code.repositories, "importBundle").mockRejectedValue(new Error("no"))
    await expect(code.world.operate("backup")).rejects.toThrow("no")
    expect(await code.world.ports.blobs.find(companyId, BUNDLE)).not.toBeNull()
    taking.mockRestore()
    expect((await code.world.operate("backup")).ok).toBe(true)
    expect(await code.repositories.listRefs(companyId)).toEqual(tips)
  })

  it("leaves a repository that is there as it is", async () => {
    const copy = await filled()
    await asRestored()
    const newer = commitFiles(copy, { "c.txt": "three\n" })
    await operate("repository import", { file: writeBundle(copy) })
    await code.world.ports.externalBackup.restore(say)
    expect((await code.repositories.listRefs(company.companyId))[0]?.id).toBe(newer)
    await repositoryBackups.unstage(code.world.ports)
  })
})

describe("a company's erasure", () => {
  it("takes its repository away, and a backup's blob of it, and says so", async () => {
    await filled()
    await asRestored()
    const { companyId, key } = company
    const { name } = await operate("company show", { company: companyId })
    await code.world.call(key, "POST", "/api/v1/company/delete", { body: { confirm: name } })
    expect(await code.repositories.has(companyId)).toBe(true)
    await code.world.operate("clock advance", { duration: "14d" })
    await code.world.operate("wait")
    expect(await code.repositories.has(companyId)).toBe(false)
    const folder = code.codeDir
    const left = readdirSync(folder).filter((one) =>
      one.includes(Buffer.from(companyId).toString("hex")),
    )
    expect([existsSync(folder), left]).toEqual([true, []])
    expect((await facts()).at(-1)).toBe("RepositoryErased")
    expect(await code.world.ports.blobs.findCompanies(BUNDLE)).not.toContain(companyId)
    await expect(operate("repository create")).rejects.toMatchObject({ code: "company_erased" })
  })
})

describe("maintenance", () => {
  const from = maintainRepository.on?.["PushCompleted"]
  const rows = (revision: number) => {
    const recorded = partialFake<RecordedFactOf<"PushCompleted">>({
      companyId: "co_aaaaaa",
      revision,
    })
    return from?.({ type: "PushCompleted", at: 1, pushId: "push_1" }, recorded)
  }

  it("is due about every fiftieth push, and not before", () => {
    const due = Array.from({ length: 1_000 }, (_, i) => i).filter((i) => rows(i)?.length === 1)
    expect(due.filter((i) => i % 2 === 0).length).toBe(18)
    expect(due[0]).toBe(100)
    expect(rows(100)?.[0]).toMatchObject({ name: "co_aaaaaa", subject: "co_aaaaaa maintenance" })
  })

  it("packs the repository, waits for git, and needs none that is gone", async () => {
    await filled()
    const { companyId } = company
    const work = { companyId, attempts: 1 } as Parameters<typeof maintainRepository.perform>[1]
    expect(await maintainRepository.perform(code.world.ports, work)).toEqual({ result: "done" })
    const broken = vi.spyOn(code.repositories, "maintain")
    broken.mockRejectedValueOnce(new GitUnavailable("git cannot be run"))
    expect(await maintainRepository.perform(code.world.ports, work)).toMatchObject({
      result: "retry",
    })
    await code.repositories.erase(companyId)
    expect(await maintainRepository.perform(code.world.ports, work)).toEqual({ result: "done" })
    expect(await pendingJobsOf(code.world, companyId)).toEqual([])
  })
})

it("brings every repository back, empty ones too, and leaves no blob of them", async () => {
  const { world, folder, close, repositories } = await openCodeWorld()
  closing.push(close)
  const { companyId } = await makeCompany(world)
  const other = await makeCompany(world)
  const file = writeBundle(makeWorkingCopy(folder, { "a.txt": "one\n" }))
  await world.operate("repository import", { company: companyId, file })
  await world.operate("repository create", { company: other.companyId })
  const { rows } = await backUp(world, {
    putIn: async () => void closing.push(await world.ports.externalBackup.stage(say, signal)),
  })
  const tips = await repositories.listRefs(companyId)
  expect(tips).toHaveLength(1)
  const url = await database()
  expect(await restore({ url })).toMatchObject({ ok: true, rows })
  const restored = openGit({ codeDir: codeDir() })
  expect(await restored.listRefs(companyId)).toEqual(tips)
  expect(await restored.has(other.companyId)).toBe(true)
  expect(await queryRows(url, "select 1 from ledger.blobs")).toEqual([])
})
