/** Removing an object from a repository permanently, with a real git. */
import { readdirSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { describe, expect, it, vi } from "vitest"
import { repositoryFolderName } from "../../adapters/git/port.ts"
import { codeStreamOf } from "../../domain/code/aggregates.ts"
import { causedBy } from "../../src/frame/kernel/envelope.ts"
import { codeFactTypes } from "../code-checks/fake-pushes.ts"
import { retryJobsOf } from "../effects/texts.ts"
import { startGitPost, codeWorld, makeCodeCompany } from "./code-world.ts"
import { pushBody } from "./git.ts"
import type { Company } from "../support/world.ts"
import { makeCompany } from "../support/world.ts"

const { addressOf, codeDir, workspace, server, world } = await codeWorld()

const SECRET = "the word is swordfish\n"

/** A company that pushed a secret to a side branch, and the secret's id. */
async function makeLeak(folder: string): Promise<{ company: Company; blob: string }> {
  const company = await makeCodeCompany(world)
  await workspace.run(["clone", "--quiet", addressOf(company), folder])
  await workspace.commit(folder, "a", "a\n")
  await workspace.run(["push", "--quiet", "origin", "main"], { folder: folder })
  await workspace.run(["switch", "--quiet", "-c", "side"], { folder: folder })
  await workspace.commit(folder, "pass word.txt", SECRET)
  await workspace.run(["push", "--quiet", "origin", "side"], { folder: folder })
  return {
    company,
    blob: await workspace.run(["rev-parse", "side:pass word.txt"], { folder: folder }),
  }
}

const scrub = ({ companyId }: Company, blob: string) =>
  world.operate("repository scrub", { company: companyId, blob }, "a password")

/** Whether git serves an object to a client that knows its id. */
async function isServed(company: Company, id: string, into: string): Promise<boolean> {
  await workspace.run(["init", "--quiet", into])
  return (await workspace.git(["fetch", addressOf(company), id], { folder: into })).code === 0
}

describe("repository scrub", () => {
  it("removes an object that no branch reaches, and rejects one that a branch reaches", async () => {
    const { company, blob } = await makeLeak("one")
    const commit = await workspace.run(["rev-parse", "side"], { folder: "one" })
    await expect(scrub(company, blob)).rejects.toMatchObject({
      code: "still_reached",
      message: expect.stringContaining("at pass word.txt. Rewrite"),
    })
    await workspace.run(["push", "--quiet", "origin", ":side"], { folder: "one" })
    expect(await isServed(company, commit, "before")).toBe(true)
    expect(await scrub(company, blob)).toMatchObject({ blob, gone: true })
    expect(await isServed(company, commit, "after")).toBe(false)
    await expect(scrub(company, blob)).rejects.toMatchObject({ code: "not_found" })
    const tip = await workspace.run(["rev-parse", "main"], { folder: "one" })
    expect(await world.ports.repositories.listRefs(company.companyId)).toEqual([
      { ref: "refs/heads/main", id: tip },
    ])
    expect((await codeFactTypes(world, company)).slice(-6)).toEqual([
      "PushAccepted",
      "PushCompleted",
      "ScrubStarted",
      "ScrubFinished",
      "ScrubStarted",
      "ScrubFinished",
    ])
    await workspace.commit("one", "c", "c\n")
    await workspace.run(["push", "--quiet", "origin", "side:main"], { folder: "one" })
    expect((await world.operate("audit verify")).ok).toBe(true)
  })

  it("removes an unreferenced commit, tag and folder, even from a pack with a .keep file", async () => {
    const { company } = await makeLeak("kinds")
    const clone = { folder: "kinds" }
    const message = ["commit", "--quiet", "--allow-empty", "-m", SECRET]
    await workspace.run(message, clone)
    await workspace.run(["tag", "-a", "-m", SECRET, "v1"], clone)
    await workspace.run(["push", "--quiet", "origin", "side", "v1"], clone)
    const ids = []
    for (const name of ["side", "v1", "side^{tree}"]) {
      ids.push(await workspace.run(["rev-parse", name], clone))
    }
    for (const id of ids) {
      await expect(scrub(company, id)).rejects.toMatchObject({ code: "still_reached" })
    }
    await workspace.run(["push", "--quiet", "origin", ":side", ":v1"], clone)
    // A push that ended by a power cut leaves these files.
    const packs = join(codeDir, repositoryFolderName(company.companyId), "objects", "pack")
    for (const name of readdirSync(packs).filter((one) => one.endsWith(".pack"))) {
      writeFileSync(join(packs, name.replace(/pack$/, "keep")), "receive-pack 4711 on elsewhere\n")
    }
    for (const [i, id] of ids.entries()) {
      // The first scrub removes all of them.
      const done = scrub(company, id)
      if (i === 0) expect(await done).toMatchObject({ blob: id, gone: true })
      else await expect(done).rejects.toMatchObject({ code: "not_found" })
      expect(await isServed(company, id, `kind-${i}`)).toBe(false)
    }
    expect(readdirSync(packs).filter((one) => one.endsWith(".keep"))).toEqual([])
  })

  it("removes loose objects", async () => {
    const { company, blob } = await makeLeak("loose")
    await workspace.run(["push", "--quiet", "origin", ":side"], { folder: "loose" })
    const at = ["-C", join(codeDir, repositoryFolderName(company.companyId))]
    await workspace.run([...at, "repack", "-A", "-d", "-q"])
    const commit = await workspace.run(["rev-parse", "side"], { folder: "loose" })
    expect(await scrub(company, blob)).toMatchObject({ gone: true })
    expect(await isServed(company, commit, "loose-after")).toBe(false)
    await workspace.run([...at, "fsck", "--strict"])
  })

  it("rejects an invalid or unknown id, and a company without a repository", async () => {
    const company = await makeCodeCompany(world)
    await expect(scrub(company, "x")).rejects.toThrow(/40 hex digits/)
    await expect(scrub(company, "0".repeat(40))).rejects.toMatchObject({ code: "not_found" })
    const other = await makeCompany(world)
    await expect(scrub(other, "0".repeat(40))).rejects.toMatchObject({ code: "no_repository" })
  })

  it("rejects a push that began before it, and accepts the next one", async () => {
    const { company, blob } = await makeLeak("two")
    await workspace.run(["push", "--quiet", "origin", ":side"], { folder: "two" })
    const body = await pushBody(workspace, "two", { ref: "refs/heads/again" })
    const { sent, answered } = startGitPost(server, company, "git-receive-pack")
    const receivePush = vi.spyOn(world.ports.repositories, "receivePush")
    sent.write(body.subarray(0, body.length >> 1))
    await expect.poll(() => receivePush.mock.calls.length).toBe(1)
    await scrub(company, blob)
    sent.end(body.subarray(body.length >> 1))
    expect(await answered).toMatch(/cleaned during the push.*Push again/s)
    receivePush.mockRestore()
    await workspace.run(["push", "--quiet", "origin", "side"], { folder: "two" })
  })

  it("is ended by a job if its caller has gone, and pushes land again", async () => {
    const { company, blob } = await makeLeak("three")
    await workspace.run(["push", "--quiet", "origin", ":side"], { folder: "three" })
    const begin = { type: "StartScrub" as const, blob }
    await world.ports.runner.execute(codeStreamOf(company.companyId), begin, causedBy("test"))
    await workspace.run(["switch", "--quiet", "main"], { folder: "three" })
    await workspace.commit("three", "d", "d\n")
    const refused = await workspace.git(["push", "origin", "main"], { folder: "three" })
    expect(refused.stderr).toContain("Push again")
    await world.operate("wait")
    await retryJobsOf(world, company.companyId, "end-scrub")
    await workspace.run(["push", "--quiet", "origin", "main"], { folder: "three" })
    expect(await isServed(company, blob, "three-after")).toBe(false)
  })

  it("lets pushes land again after git failed", async () => {
    const { company, blob } = await makeLeak("four")
    const failing = vi.spyOn(world.ports.repositories, "scrub")
    failing.mockRejectedValueOnce(new Error("no disk"))
    await expect(scrub(company, blob)).rejects.toThrow("no disk")
    await workspace.commit("four", "d", "d\n")
    await workspace.run(["push", "--quiet", "origin", "side"], { folder: "four" })
  })
})
