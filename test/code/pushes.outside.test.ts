/** Pushes that break off, race, or ask for something that is not allowed. */
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

const { addressOf, codeDir, workspace, server, world } = await codeWorld(await ownWorld("settings"))

/** A company whose repository has one commit, and a clone with a second one. */
async function makeUnpushedCommit(folder: string): Promise<Company> {
  const company = await makeCodeCompany(world)
  await workspace.run(["clone", "--quiet", addressOf(company), folder])
  await workspace.commit(folder, "a", "a\n")
  await workspace.run(["push", "--quiet", "origin", "main"], { folder: folder })
  await workspace.commit(folder, "b", randomBytes(200_000))
  return company
}

const tipsOf = ({ companyId }: Company) => world.ports.repositories.listRefs(companyId)

/** Command lines and environments of all other processes. */
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

async function sendHalf(company: Company, folder: string, at = server) {
  const tips = await tipsOf(company)
  const body = await pushBody(workspace, folder, { old: tips[0]?.id ?? "" })
  const half = body.length >> 1
  const { sent, answered } = startGitPost(at, company, "git-receive-pack")
  sent.write(body.subarray(0, half))
  await expect.poll(() => quarantineFolders(codeDir, company)).toHaveLength(1)
  return { tips, sent, answered, rest: body.subarray(half) }
}

describe("an incomplete push", () => {
  it("leaves nothing when its client disconnects", async () => {
    const company = await makeUnpushedCommit("gone")
    const { tips, sent } = await sendHalf(company, "gone")
    sent.destroy()
    await expect.poll(() => quarantineFolders(codeDir, company)).toEqual([])
    expect(await tipsOf(company)).toEqual(tips)
    expect(world.ports.packSlots.count()).toMatchObject({ in: 0 })
    await workspace.run(["push", "--quiet", "origin", "main"], { folder: "gone" })
  })

  it("shows its key to no process, and is rejected at its end if the key was paused", async () => {
    const company = await makeUnpushedCommit("paused")
    const { tips, sent, answered, rest } = await sendHalf(company, "paused")
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

  it("is ended by a stop of the server, and leaves nothing", async () => {
    const company = await makeUnpushedCommit("stopped")
    const stopping = await openWorld("start", {
      url: world.databaseUrl,
      settings: { CODE_DIR: codeDir },
    })
    const { tips, answered } = await sendHalf(company, "stopped", await ensureListening(stopping))
    await stopping.app.close()
    // There is no report: the client's git prints that the remote end hung up.
    expect(await answered).toBe("200 ")
    await expect.poll(() => quarantineFolders(codeDir, company)).toEqual([])
    expect(await tipsOf(company)).toEqual(tips)
    await stopping.close()
  })

  it("may take an hour", () => {
    expect(world.app.server.requestTimeout).toBe(3_600_000)
  })
})

describe("concurrent pushes", () => {
  it("to one branch land once, and the others get the reason", async () => {
    const company = await makeCodeCompany(world)
    const folders = ["race1", "race2", "race3", "race4"]
    for (const folder of folders) {
      await workspace.run(["clone", "--quiet", addressOf(company), folder])
      await workspace.commit(folder, folder, "x\n")
    }
    const results = await Promise.all(
      folders.map((folder) => workspace.git(["push", "origin", "main"], { folder: folder })),
    )
    expect(results.filter(({ code }) => code === 0)).toHaveLength(1)
    for (const { stderr } of results.filter(({ code }) => code !== 0)) {
      expect(stderr).toMatch(/failed to (push|update)|rejected/)
    }
    expect(await tipsOf(company)).toHaveLength(1)
    expect(await quarantineFolders(codeDir, company)).toEqual([])
  })

  it("wait for a slot, and are rejected when too many wait", async () => {
    const company = await makeUnpushedCommit("waiting")
    const { packSlots } = world.ports
    const never = new AbortController()
    const reserve = (direction: "in" | "out") =>
      packSlots.reserve(direction, company.companyId, never.signal)
    const reserved = [await reserve("in"), await reserve("in")]
    for (let i = 0; i < 4; i += 1) reserved.push(await reserve("out"))
    const queue = Array.from({ length: 32 }, () => reserve("in"))
    const full = "overloaded: Too many clones and pushes are in progress. Try again in 30 seconds."
    const push = await workspace.git(["push", "origin", "main"], { folder: "waiting" })
    expect(push.stderr).toContain(`remote: ${full}`)
    expect(push.stderr).toContain("! [remote rejected] main -> main (overloaded)")
    const clone = await workspace.git(["clone", addressOf(company), "none"])
    expect(clone.stderr).toContain(`fatal: remote error: ${full}`)
    never.abort()
    expect(await Promise.all(queue)).toEqual(queue.map(() => null))
    for (const release of reserved) release?.()
    expect(packSlots.count()).toEqual({ in: 0, out: 0, waiting: 0 })
    await workspace.run(["push", "--quiet", "origin", "main"], { folder: "waiting" })
  })
})

describe("a push", () => {
  it("may update only branches and tags, and may not delete the default branch", async () => {
    const company = await makeUnpushedCommit("refs")
    const head = await workspace.run(["rev-parse", "HEAD~1"], { folder: "refs" })
    for (const ref of [
      `refs/replace/${head}`,
      "refs/notes/commits",
      "refs/meta/config",
      "refs/x",
    ]) {
      const result = await workspace.git(["push", "origin", `${head}:${ref}`], { folder: "refs" })
      expect([result.code, result.stderr]).toEqual([
        1,
        expect.stringContaining("deny updating a hidden ref"),
      ])
    }
    const deletion = await workspace.git(["push", "origin", ":main"], { folder: "refs" })
    expect(deletion.stderr).toContain("remote: Push rejected: the default branch cannot be deleted")
    await workspace.run(["push", "--quiet", "origin", "main", "main:side", "main:refs/tags/v1"], {
      folder: "refs",
    })
    await workspace.run(["push", "--quiet", "origin", ":side"], { folder: "refs" })
    expect((await tipsOf(company)).map(({ ref }) => ref)).toEqual([
      "refs/heads/main",
      "refs/tags/v1",
    ])
  })

  it("cannot land without the server: the hook rejects it", async () => {
    const company = await makeUnpushedCommit("local")
    const tips = await tipsOf(company)
    const folder = repositoryFolder(codeDir, company)
    const { code, stderr } = await workspace.git(["push", folder, "main"], { folder: "local" })
    expect([code, stderr]).toEqual([1, expect.stringContaining("pre-receive hook declined")])
    expect(await tipsOf(company)).toEqual(tips)
  })

  it("cannot make the server run code of the repository", async () => {
    const company = await makeCodeCompany(world)
    await workspace.run(["clone", "--quiet", addressOf(company), "evil"])
    const mark = join(workspace.path, "was-run")
    await mkdir(join(workspace.path, "evil", "hooks"))
    for (const hook of ["pre-receive", "post-receive", "update", "post-checkout"]) {
      const path = join(workspace.path, "evil", "hooks", hook)
      await writeFile(path, `#!/bin/sh\ntouch ${mark}\n`)
      await chmod(path, 0o755)
    }
    await writeFile(join(workspace.path, "evil", ".gitattributes"), "* filter=evil export-ignore\n")
    const config = `[core]\n\thooksPath = hooks\n\tfsmonitor = touch ${mark}\n[filter "evil"]\n\tsmudge = touch ${mark}\n`
    const commit = await workspace.commit("evil", "config", config)
    await workspace.run(["push", "--quiet", "origin", "main"], { folder: "evil" })
    await world.ports.repositories.maintain(company.companyId)
    let archived = 0
    await world.ports.repositories.archive(company.companyId, commit, "tar", async ({ length }) => {
      archived += length
    })
    // The archive has every file, regardless of its attributes.
    expect(archived).toBeGreaterThan(5_000)
    await expect(stat(mark)).rejects.toThrow("ENOENT")
  })
})
