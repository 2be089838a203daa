/** Pushes that end in the middle, race, or want what they must not. */
import { randomBytes } from "node:crypto"
import { chmod, mkdir, readFile, readdir, stat, writeFile } from "node:fs/promises"
import { join } from "node:path"
import { describe, expect, it } from "vitest"
import { openWorld, ownWorld } from "../support/world.ts"
import {
  startGitPost,
  codeWorld,
  repositoryFolder,
  ensureListening,
  makeCodeCompany,
  quarantineFolders,
} from "./code-world.ts"
import { pushBody } from "./git.ts"
import type { Company } from "../support/world.ts"

const { addressOf, codeDir, desk, server, world } = await codeWorld(await ownWorld("settings"))

/** A company whose repository has one commit, and a clone of it with another. */
async function ahead(folder: string): Promise<Company> {
  const company = await makeCodeCompany(world)
  await desk.right(["clone", "--quiet", addressOf(company), folder])
  await desk.commit(folder, "a", "a\n")
  await desk.right(["push", "--quiet", "origin", "main"], { folder: folder })
  await desk.commit(folder, "b", randomBytes(200_000))
  return company
}

const tipsOf = ({ companyId }: Company) => world.ports.repositories.listRefs(companyId)

/** Command lines and environments of all processes but this one. */
async function processes(): Promise<string> {
  const ids = (await readdir("/proc")).filter((name) => /^\d+$/.test(name))
  const read = (path: string) => readFile(path, "latin1").catch(() => "")
  const texts = ids.map(async (id) =>
    id === String(process.pid)
      ? ""
      : (await read(`/proc/${id}/cmdline`)) + (await read(`/proc/${id}/environ`)),
  )
  return (await Promise.all(texts)).join("\n")
}

/** Begins a push by hand: half of it has come, and git is there to take it. */
async function halfway(company: Company, folder: string, at = server) {
  const tips = await tipsOf(company)
  const body = await pushBody(desk, folder, { old: tips[0]?.id ?? "" })
  const half = body.length >> 1
  const { sent, answered } = startGitPost(at, company, "git-receive-pack")
  sent.write(body.subarray(0, half))
  await expect.poll(() => quarantineFolders(codeDir, company)).toHaveLength(1)
  return { tips, sent, answered, rest: body.subarray(half) }
}

describe("a push in the middle", () => {
  it("leaves nothing where its client goes away", async () => {
    const company = await ahead("gone")
    const { tips, sent } = await halfway(company, "gone")
    sent.destroy()
    await expect.poll(() => quarantineFolders(codeDir, company)).toEqual([])
    expect(await tipsOf(company)).toEqual(tips)
    expect(world.ports.packSlots.count()).toMatchObject({ in: 0 })
    await desk.right(["push", "--quiet", "origin", "main"], { folder: "gone" })
  })

  it("shows its key to no process, and is refused at its end where that was paused", async () => {
    const company = await ahead("paused")
    const { tips, sent, answered, rest } = await halfway(company, "paused")
    const seen = await processes()
    expect(seen).toContain("receive-pack")
    expect(seen).not.toContain(company.key)
    await world.operate("key pause", { keyId: company.keyId })
    sent.end(rest)
    const answer = await answered
    expect(answer).toContain("invalid_key: The API key is missing, unknown, paused or deleted.")
    expect(answer).toContain("ng refs/heads/main pre-receive hook declined")
    expect(await tipsOf(company)).toEqual(tips)
    expect(await quarantineFolders(codeDir, company)).toEqual([])
    expect(world.warnings.join()).not.toContain(company.key)
  })

  it("is ended by a stop, and leaves nothing", async () => {
    const company = await ahead("stopped")
    const stopping = await openWorld("start", {
      url: world.databaseUrl,
      settings: { CODE_DIR: codeDir },
    })
    const { tips, answered } = await halfway(company, "stopped", await ensureListening(stopping))
    await stopping.app.close()
    // No report: its git says that the other end hung up.
    expect(await answered).toBe("200 ")
    await expect.poll(() => quarantineFolders(codeDir, company)).toEqual([])
    expect(await tipsOf(company)).toEqual(tips)
    await stopping.close()
  })

  it("has an hour to come", () => {
    expect(world.app.server.requestTimeout).toBe(3_600_000)
  })
})

describe("pushes at once", () => {
  it("to one branch land once, and the others hear why", async () => {
    const company = await makeCodeCompany(world)
    const folders = ["race1", "race2", "race3", "race4"]
    for (const folder of folders) {
      await desk.right(["clone", "--quiet", addressOf(company), folder])
      await desk.commit(folder, folder, "x\n")
    }
    const said = await Promise.all(
      folders.map((folder) => desk.git(["push", "origin", "main"], { folder: folder })),
    )
    expect(said.filter(({ code }) => code === 0)).toHaveLength(1)
    for (const { stderr } of said.filter(({ code }) => code !== 0)) {
      expect(stderr).toMatch(/failed to (push|update)|rejected/)
    }
    expect(await tipsOf(company)).toHaveLength(1)
    expect(await quarantineFolders(codeDir, company)).toEqual([])
  })

  it("wait for a place, and are told where too many wait", async () => {
    const company = await ahead("waiting")
    const { packSlots } = world.ports
    const never = new AbortController()
    const take = (direction: "in" | "out") =>
      packSlots.reserve(direction, company.companyId, never.signal)
    const taken = [await take("in"), await take("in")]
    for (let i = 0; i < 4; i += 1) taken.push(await take("out"))
    const queue = Array.from({ length: 32 }, () => take("in"))
    const full = "overloaded: Too many clones and pushes are in progress. Try again in 30 seconds."
    const push = await desk.git(["push", "origin", "main"], { folder: "waiting" })
    expect(push.stderr).toContain(`remote: ${full}`)
    expect(push.stderr).toContain("! [remote rejected] main -> main (overloaded)")
    const clone = await desk.git(["clone", addressOf(company), "none"])
    expect(clone.stderr).toContain(`fatal: remote error: ${full}`)
    never.abort()
    expect(await Promise.all(queue)).toEqual(queue.map(() => null))
    for (const leave of taken) leave?.()
    expect(packSlots.count()).toEqual({ in: 0, out: 0, waiting: 0 })
    await desk.right(["push", "--quiet", "origin", "main"], { folder: "waiting" })
  })
})

describe("what a push may not", () => {
  it("is move any ref but branches and tags, or take the default branch away", async () => {
    const company = await ahead("refs")
    const head = await desk.right(["rev-parse", "HEAD~1"], { folder: "refs" })
    for (const ref of [
      `refs/replace/${head}`,
      "refs/notes/commits",
      "refs/meta/config",
      "refs/x",
    ]) {
      const said = await desk.git(["push", "origin", `${head}:${ref}`], { folder: "refs" })
      expect([said.code, said.stderr]).toEqual([
        1,
        expect.stringContaining("deny updating a hidden ref"),
      ])
    }
    const taken = await desk.git(["push", "origin", ":main"], { folder: "refs" })
    expect(taken.stderr).toContain("remote: Push rejected: the default branch cannot be deleted")
    await desk.right(["push", "--quiet", "origin", "main", "main:side", "main:refs/tags/v1"], {
      folder: "refs",
    })
    await desk.right(["push", "--quiet", "origin", ":side"], { folder: "refs" })
    expect((await tipsOf(company)).map(({ ref }) => ref)).toEqual([
      "refs/heads/main",
      "refs/tags/v1",
    ])
  })

  it("is land without the server: the hook lets nothing through", async () => {
    const company = await ahead("local")
    const tips = await tipsOf(company)
    const folder = repositoryFolder(codeDir, company)
    const { code, stderr } = await desk.git(["push", folder, "main"], { folder: "local" })
    expect([code, stderr]).toEqual([1, expect.stringContaining("pre-receive hook declined")])
    expect(await tipsOf(company)).toEqual(tips)
  })

  it("is have anything of it run here", async () => {
    const company = await makeCodeCompany(world)
    await desk.right(["clone", "--quiet", addressOf(company), "evil"])
    const mark = join(desk.path, "was-run")
    await mkdir(join(desk.path, "evil", "hooks"))
    for (const hook of ["pre-receive", "post-receive", "update", "post-checkout"]) {
      const path = join(desk.path, "evil", "hooks", hook)
      await writeFile(path, `#!/bin/sh\ntouch ${mark}\n`)
      await chmod(path, 0o755)
    }
    await writeFile(join(desk.path, "evil", ".gitattributes"), "* filter=evil export-ignore\n")
    const config = `[core]\n\thooksPath = hooks\n\tfsmonitor = touch ${mark}\n[filter "evil"]\n\tsmudge = touch ${mark}\n`
    const commit = await desk.commit("evil", "config", config)
    await desk.right(["push", "--quiet", "origin", "main"], { folder: "evil" })
    await world.ports.repositories.maintain(company.companyId)
    let archived = 0
    await world.ports.repositories.archive(company.companyId, commit, "tar", async ({ length }) => {
      archived += length
    })
    // Every file is in it, whatever its attributes say.
    expect(archived).toBeGreaterThan(5_000)
    await expect(stat(mark)).rejects.toThrow("ENOENT")
  })
})
