/** A repository that is cleaned of something for good, with a real git. */
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

const { addressOf, codeDir, desk, server, world } = await codeWorld()

const SECRET = "the word is swordfish\n"

/** A company that pushed a secret to a branch beside the default one; the secret's id. */
async function leaked(folder: string): Promise<{ company: Company; blob: string }> {
  const company = await makeCodeCompany(world)
  await desk.right(["clone", "--quiet", addressOf(company), folder])
  await desk.commit(folder, "a", "a\n")
  await desk.right(["push", "--quiet", "origin", "main"], { folder: folder })
  await desk.right(["switch", "--quiet", "-c", "side"], { folder: folder })
  await desk.commit(folder, "pass word.txt", SECRET)
  await desk.right(["push", "--quiet", "origin", "side"], { folder: folder })
  return {
    company,
    blob: await desk.right(["rev-parse", "side:pass word.txt"], { folder: folder }),
  }
}

const scrub = ({ companyId }: Company, blob: string) =>
  world.operate("repository scrub", { company: companyId, blob }, "a password")

/** Whether git hands an object out to whoever knows its id. */
async function isHandedOut(company: Company, id: string, into: string): Promise<boolean> {
  await desk.right(["init", "--quiet", into])
  return (await desk.git(["fetch", addressOf(company), id], { folder: into })).code === 0
}

describe("repository scrub", () => {
  it("takes out what no branch has, and nothing that one has", async () => {
    const { company, blob } = await leaked("one")
    const commit = await desk.right(["rev-parse", "side"], { folder: "one" })
    await expect(scrub(company, blob)).rejects.toMatchObject({
      code: "still_reached",
      message: expect.stringContaining("at pass word.txt. Rewrite"),
    })
    await desk.right(["push", "--quiet", "origin", ":side"], { folder: "one" })
    expect(await isHandedOut(company, commit, "before")).toBe(true)
    expect(await scrub(company, blob)).toMatchObject({ blob, gone: true })
    expect(await isHandedOut(company, commit, "after")).toBe(false)
    await expect(scrub(company, blob)).rejects.toMatchObject({ code: "not_found" })
    const tip = await desk.right(["rev-parse", "main"], { folder: "one" })
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
    await desk.commit("one", "c", "c\n")
    await desk.right(["push", "--quiet", "origin", "side:main"], { folder: "one" })
    expect((await world.operate("audit verify")).ok).toBe(true)
  })

  it("takes out a commit, a tag and a folder that no branch has, also from a pack that was kept", async () => {
    const { company } = await leaked("kinds")
    const clone = { folder: "kinds" }
    const message = ["commit", "--quiet", "--allow-empty", "-m", SECRET]
    await desk.right(message, clone)
    await desk.right(["tag", "-a", "-m", SECRET, "v1"], clone)
    await desk.right(["push", "--quiet", "origin", "side", "v1"], clone)
    const ids = []
    for (const name of ["side", "v1", "side^{tree}"]) {
      ids.push(await desk.right(["rev-parse", name], clone))
    }
    for (const id of ids) {
      await expect(scrub(company, id)).rejects.toMatchObject({ code: "still_reached" })
    }
    await desk.right(["push", "--quiet", "origin", ":side", ":v1"], clone)
    // As a power cut leaves them, of a push that was never heard of again.
    const packs = join(codeDir, repositoryFolderName(company.companyId), "objects", "pack")
    for (const name of readdirSync(packs).filter((one) => one.endsWith(".pack"))) {
      writeFileSync(join(packs, name.replace(/pack$/, "keep")), "receive-pack 4711 on elsewhere\n")
    }
    for (const [i, id] of ids.entries()) {
      // The first takes all of them along.
      const done = scrub(company, id)
      if (i === 0) expect(await done).toMatchObject({ blob: id, gone: true })
      else await expect(done).rejects.toMatchObject({ code: "not_found" })
      expect(await isHandedOut(company, id, `kind-${i}`)).toBe(false)
    }
    expect(readdirSync(packs).filter((one) => one.endsWith(".keep"))).toEqual([])
  })

  it("takes out what git has put beside its packs", async () => {
    const { company, blob } = await leaked("loose")
    await desk.right(["push", "--quiet", "origin", ":side"], { folder: "loose" })
    const at = ["-C", join(codeDir, repositoryFolderName(company.companyId))]
    await desk.right([...at, "repack", "-A", "-d", "-q"])
    const commit = await desk.right(["rev-parse", "side"], { folder: "loose" })
    expect(await scrub(company, blob)).toMatchObject({ gone: true })
    expect(await isHandedOut(company, commit, "loose-after")).toBe(false)
    await desk.right([...at, "fsck", "--strict"])
  })

  it("is told of what is no content's id, and of a company without a repository", async () => {
    const company = await makeCodeCompany(world)
    await expect(scrub(company, "x")).rejects.toThrow(/40 hex digits/)
    await expect(scrub(company, "0".repeat(40))).rejects.toMatchObject({ code: "not_found" })
    const other = await makeCompany(world)
    await expect(scrub(other, "0".repeat(40))).rejects.toMatchObject({ code: "no_repository" })
  })

  it("lets no push pass that git began to take before, and the next one does", async () => {
    const { company, blob } = await leaked("two")
    await desk.right(["push", "--quiet", "origin", ":side"], { folder: "two" })
    const body = await pushBody(desk, "two", { ref: "refs/heads/again" })
    const { sent, answered } = startGitPost(server, company, "git-receive-pack")
    const began = vi.spyOn(world.ports.repositories, "receivePush")
    sent.write(body.subarray(0, body.length >> 1))
    await expect.poll(() => began.mock.calls.length).toBe(1)
    await scrub(company, blob)
    sent.end(body.subarray(body.length >> 1))
    expect(await answered).toMatch(/cleaned during the push.*Push again/s)
    began.mockRestore()
    await desk.right(["push", "--quiet", "origin", "side"], { folder: "two" })
  })

  it("is ended by the program where who began it has gone, and pushes pass again", async () => {
    const { company, blob } = await leaked("three")
    await desk.right(["push", "--quiet", "origin", ":side"], { folder: "three" })
    const begin = { type: "StartScrub" as const, blob }
    await world.ports.runner.execute(codeStreamOf(company.companyId), begin, causedBy("test"))
    await desk.right(["switch", "--quiet", "main"], { folder: "three" })
    await desk.commit("three", "d", "d\n")
    const refused = await desk.git(["push", "origin", "main"], { folder: "three" })
    expect(refused.stderr).toContain("Push again")
    await world.operate("wait")
    await retryJobsOf(world, company.companyId, "end-scrub")
    await desk.right(["push", "--quiet", "origin", "main"], { folder: "three" })
    expect(await isHandedOut(company, blob, "three-after")).toBe(false)
  })

  it("lets pushes pass again where git failed", async () => {
    const { company, blob } = await leaked("four")
    const failing = vi.spyOn(world.ports.repositories, "scrub")
    failing.mockRejectedValueOnce(new Error("no disk"))
    await expect(scrub(company, blob)).rejects.toThrow("no disk")
    await desk.commit("four", "d", "d\n")
    await desk.right(["push", "--quiet", "origin", "side"], { folder: "four" })
  })
})
