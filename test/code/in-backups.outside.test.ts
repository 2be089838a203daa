/** Repositories in backups, restores and erasures, and their maintenance. */
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
const ignoreProgress = () => undefined
const { backUp, closing, codeDir, database, restore } = openBackups()
const { signal } = new AbortController()

/** The types of the facts about the company's code. */
async function facts(): Promise<readonly string[]> {
  const { events } = await code.world.operate("audit show", { stream: `code-${company.companyId}` })
  return events.map(({ type }: { readonly type: string }) => type)
}

/** Gives the company a repository with one commit; returns the working copy. */
async function importOneCommit(): Promise<string> {
  const copy = makeWorkingCopy(code.folder, { "a.txt": "one\n" })
  await operate("repository import", { file: writeBundle(copy) })
  return copy
}

/** Stages the repositories like a backup and leaves the blobs, like a restored database has them. */
async function stageRepositories(): Promise<void> {
  await repositoryBackups.stage(code.world.ports, ignoreProgress, signal)
}

describe("a backup", () => {
  it("contains each repository, and leaves no blob in the database", async () => {
    const { blobs, externalBackup } = code.world.ports
    await importOneCommit()
    const other = await makeCompany(code.world)
    await code.world.operate("repository create", { company: other.companyId })
    let unstage: (() => Promise<void>) | null = null
    const { text } = await backUp(code.world, {
      putIn: async () => void (unstage = await externalBackup.stage(ignoreProgress, signal)),
    })
    expect(text).toContain(
      `"company_id":"${company.companyId}","subject":"company","blob_id":"${BUNDLE}"`,
    )
    const lines = text.split("\n").map((line) => line.split(" ")[1])
    expect(lines.lastIndexOf("events")).toBeLessThan(lines.indexOf("blobs"))
    expect((await blobs.find(other.companyId, BUNDLE))?.length).toBe(0)
    const second = externalBackup.stage(ignoreProgress, signal)
    await expect(second).rejects.toMatchObject({ code: "busy" })
    await (unstage as (() => Promise<void>) | null)?.()
    expect(await blobs.findCompanies(BUNDLE)).toEqual([])
  })

  it("by the operation leaves no blob", async () => {
    await importOneCommit()
    expect((await code.world.operate("backup")).ok).toBe(true)
    expect(await code.world.ports.blobs.findCompanies(BUNDLE)).toEqual([])
  })

  it("fails rather than leaving out a repository that cannot be read", async () => {
    await importOneCommit()
    const fault = new GitUnavailable("git cannot be run")
    vi.spyOn(code.repositories, "bundle").mockRejectedValue(fault)
    await expect(code.world.operate("backup")).rejects.toThrow("git cannot be run")
  })
})

describe("a restore", () => {
  it("creates the repositories again, and records refs that the facts lack", async () => {
    const copy = await importOneCommit()
    // This commit came after the events of the backup: a restored repository is never older than they are.
    const late = commitFiles(copy, { "b.txt": "two\n" })
    const { companyId } = company
    const acceptAll = async () => ({ ok: true }) as const
    await code.repositories.importBundle(companyId, createReadStream(writeBundle(copy)), acceptAll)
    await stageRepositories()
    await code.repositories.erase(companyId)
    const { externalBackup, blobs } = code.world.ports
    await externalBackup.restore(ignoreProgress)
    expect(await code.repositories.listRefs(companyId)).toEqual([
      { ref: "refs/heads/main", id: late },
    ])
    expect((await facts()).at(-1)).toBe("RefsReconciled")
    expect(await blobs.find(companyId, BUNDLE)).toBeNull()
  })

  it("that was interrupted before the repositories continues at the next start", async () => {
    await importOneCommit()
    const { companyId } = company
    const tips = await code.repositories.listRefs(companyId)
    await stageRepositories()
    const restarted = await openCodeWorld({ url: code.world.databaseUrl })
    await restarted.world.ports.runHousekeeping()
    expect(await restarted.repositories.listRefs(companyId)).toEqual(tips)
    await restarted.close()
  })

  it("that was interrupted is completed by the next backup, which otherwise fails and loses nothing", async () => {
    await importOneCommit()
    const { companyId } = company
    const tips = await code.repositories.listRefs(companyId)
    await stageRepositories()
    await code.repositories.erase(companyId)
    const importBundle = vi
      .spyOn(code.repositories, "importBundle")
      .mockRejectedValue(new Error("no"))
    await expect(code.world.operate("backup")).rejects.toThrow("no")
    expect(await code.world.ports.blobs.find(companyId, BUNDLE)).not.toBeNull()
    importBundle.mockRestore()
    expect((await code.world.operate("backup")).ok).toBe(true)
    expect(await code.repositories.listRefs(companyId)).toEqual(tips)
  })

  it("leaves an existing repository unchanged", async () => {
    const copy = await importOneCommit()
    await stageRepositories()
    const newer = commitFiles(copy, { "c.txt": "three\n" })
    await operate("repository import", { file: writeBundle(copy) })
    await code.world.ports.externalBackup.restore(ignoreProgress)
    expect((await code.repositories.listRefs(company.companyId))[0]?.id).toBe(newer)
    await repositoryBackups.unstage(code.world.ports)
  })
})

describe("a company's erasure", () => {
  it("deletes its repository and a backup's blob of it, and records that", async () => {
    await importOneCommit()
    await stageRepositories()
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
  const jobsFor = maintainRepository.on?.["PushCompleted"]
  const jobsAt = (revision: number) => {
    const recorded = partialFake<RecordedFactOf<"PushCompleted">>({
      companyId: "co_aaaaaa",
      revision,
    })
    return jobsFor?.({ type: "PushCompleted", at: 1, pushId: "push_1" }, recorded)
  }

  it("is due about every fiftieth push", () => {
    const due = Array.from({ length: 1_000 }, (_, i) => i).filter((i) => jobsAt(i)?.length === 1)
    expect(due.filter((i) => i % 2 === 0).length).toBe(18)
    expect(due[0]).toBe(100)
    expect(jobsAt(100)?.[0]).toMatchObject({ name: "co_aaaaaa", subject: "co_aaaaaa maintenance" })
  })

  it("packs the repository, retries while git is unavailable, and ignores an erased repository", async () => {
    await importOneCommit()
    const { companyId } = company
    const job = { companyId, attempts: 1 } as Parameters<typeof maintainRepository.perform>[1]
    expect(await maintainRepository.perform(code.world.ports, job)).toEqual({ result: "done" })
    const broken = vi.spyOn(code.repositories, "maintain")
    broken.mockRejectedValueOnce(new GitUnavailable("git cannot be run"))
    expect(await maintainRepository.perform(code.world.ports, job)).toMatchObject({
      result: "retry",
    })
    await code.repositories.erase(companyId)
    expect(await maintainRepository.perform(code.world.ports, job)).toEqual({ result: "done" })
    expect(await pendingJobsOf(code.world, companyId)).toEqual([])
  })
})

it("a restored backup has every repository, including empty ones, and no blobs", async () => {
  const { world, folder, close, repositories } = await openCodeWorld()
  closing.push(close)
  const { companyId } = await makeCompany(world)
  const other = await makeCompany(world)
  const file = writeBundle(makeWorkingCopy(folder, { "a.txt": "one\n" }))
  await world.operate("repository import", { company: companyId, file })
  await world.operate("repository create", { company: other.companyId })
  const { rows } = await backUp(world, {
    putIn: async () =>
      void closing.push(await world.ports.externalBackup.stage(ignoreProgress, signal)),
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
