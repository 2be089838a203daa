/** Refused clones and pushes, as the person at the terminal sees them. */
import { describe, expect, it } from "vitest"
import { FLUSH_PACKET, pktLine } from "../../adapters/git/port.ts"
import { readConfig } from "../../src/bootstrap/settings/config.ts"
import { unchargedCallsOf, makeKey, openWorld, ownWorld, setLimit } from "../support/world.ts"
import { repositoryUrl, codeWorld, makeCodeCompany } from "./code-world.ts"
import type { Company } from "../support/world.ts"

const world = await ownWorld("time")
const { workspace, server } = await codeWorld(world)
const addressOf = ({ name, key }: Pick<Company, "name" | "key">, path = name) =>
  repositoryUrl(server, { user: name, key, path })

const acme = await makeCodeCompany(world, { name: "Acme & Töchter, 100 %" })
await workspace.run(["clone", "--quiet", addressOf(acme), "own"])
await workspace.commit("own", "a", "a\n")
await workspace.run(["push", "--quiet", "origin", "main"], { folder: "own" })

const refsOf = (address: string) => workspace.git(["ls-remote", address])

async function keyFor(company: Company, ...operations: string[]): Promise<Company> {
  return { ...company, ...(await makeKey(world, company, { operations })) }
}

describe("a caller", () => {
  it("without a key is asked for one, and the request is not counted", async () => {
    const before = await unchargedCallsOf(world, acme)
    const url = `${server}/git/acme.git/info/refs?service=git-upload-pack`
    const answer = await fetch(url)
    expect([answer.status, answer.headers.get("www-authenticate")]).toEqual([
      401,
      'Basic realm="code", charset="UTF-8"',
    ])
    expect(answer.headers.get("cache-control")).toBe("no-store")
    expect(await unchargedCallsOf(world, acme)).toBe(before)
  })

  it("may write the company's name in any case", async () => {
    const { code } = await refsOf(addressOf({ ...acme, name: acme.name.toUpperCase() }))
    expect(code).toBe(0)
  })

  it("is rejected with a wrong key, another company's name, or another company's path", async () => {
    const other = await makeCodeCompany(world)
    const wrong = `${acme.key.slice(0, -1)}${acme.key.endsWith("A") ? "B" : "A"}`
    const before = await unchargedCallsOf(world, acme)
    for (const user of [
      { ...acme, key: wrong },
      { ...other, key: acme.key },
      { ...acme, name: "", path: acme.name },
      { ...acme, key: other.key },
    ]) {
      const { code, stderr } = await refsOf(addressOf(user, acme.name))
      expect([code, stderr]).toEqual([128, expect.stringContaining("fatal: Authentication failed")])
      expect(stderr).not.toContain(user.key)
    }
    for (const path of [other.name, "..", `a/${acme.name}`, `${acme.name}.git`, "unknown"]) {
      const { code, stderr } = await refsOf(addressOf(acme, path))
      expect([path, code, stderr]).toEqual([
        path,
        128,
        expect.stringContaining("remote: not_found"),
      ])
    }
    expect(await unchargedCallsOf(world, acme)).toBe(before)
  })

  it("needs a personal key, its operations, and the person's permission", async () => {
    const { ownerId } = acme
    const shared = await makeKey(world, acme, { app: true })
    const needsPersonalKey =
      "remote: not_allowed: Use a person's own key: the app key cannot do this."
    expect((await refsOf(addressOf({ ...acme, key: shared.key }))).stderr).toContain(
      needsPersonalKey,
    )
    const pushKey = await keyFor(acme, "code.push")
    const noPull = "remote: operation_not_granted: This key has no permission for code.pull"
    expect((await refsOf(addressOf(pushKey))).stderr).toContain(noPull)
    const push = ["push", addressOf(pushKey), "main"]
    expect((await workspace.git(push, { folder: "own" })).stderr).toContain(noPull)
    const pushWithPullKey = ["push", addressOf(await keyFor(acme, "code.pull")), "main"]
    const noPush = "remote: operation_not_granted: This key has no permission for code.push"
    expect((await workspace.git(pushWithPullKey, { folder: "own" })).stderr).toContain(noPush)
    const { personId, ...theirs } = await makeKey(world, acme, { role: "user" })
    const noPermission =
      "remote: not_allowed: The key's person does not have the permission \"Download"
    expect((await refsOf(addressOf({ ...acme, key: theirs.key }))).stderr).toContain(noPermission)
    expect(ownerId).not.toBe(personId)
  })
})

describe("a company", () => {
  it("needs a verified card for a clone, but not for a push", async () => {
    const company = await makeCodeCompany(world, { verified: false })
    const { code, stderr } = await refsOf(addressOf(company))
    const line =
      "remote: card_required: This needs a verified card on file; an owner can verify one."
    expect([code, stderr]).toEqual([128, expect.stringContaining(line)])
    await workspace.run(["push", "--quiet", addressOf(company), "main"], { folder: "own" })
  })

  it("is rejected while it is locked, or when its limit is used up", async () => {
    const company = await makeCodeCompany(world)
    await world.operate("company lock", { company: company.companyId })
    expect((await refsOf(addressOf(company))).stderr).toContain("remote: payment_required: ")
    await world.operate("company unlock", { company: company.companyId })
    await setLimit(world, company, { dollars: "0" })
    expect((await refsOf(addressOf(company))).stderr).toContain("remote: spend_limit_reached: ")
    expect(await unchargedCallsOf(world, company)).toBe(0)
  })

  it("has no repository until an operator creates one", async () => {
    const company = await makeCodeCompany(world, { repository: false })
    const line = "remote: not_found: This company has no repository yet"
    expect((await refsOf(addressOf(company))).stderr).toContain(line)
  })

  it("whose repository's folder is missing gets an outage, and the log has the cause", async () => {
    const company = await makeCodeCompany(world)
    await world.ports.repositories.erase(company.companyId)
    const line = "remote: unavailable: The code server is unavailable."
    expect((await refsOf(addressOf(company))).stderr).toContain(line)
    expect(world.warnings.join()).toContain("the repository is missing from CODE_DIR")
  })

  it("gets an outage while git cannot be used", async () => {
    await world.operate("simulator set", { name: "git", outcome: "unavailable", times: 1 })
    const line = "remote: unavailable: The code server is unavailable. Try again in 30 seconds."
    expect((await refsOf(addressOf(acme))).stderr).toContain(line)
  })
})

/** Sends a request of the git protocol without git. */
const post = (
  { name, key }: Company,
  command: "git-upload-pack" | "git-receive-pack",
  body: Buffer,
  headers: Record<string, string> = {},
) =>
  fetch(`${server}/git/${encodeURIComponent(name)}.git/${command}`, {
    method: "POST",
    body: new Uint8Array(body),
    headers: {
      authorization: `Basic ${Buffer.from(`${name}:${key}`).toString("base64")}`,
      "content-type": `application/x-${command}-request`,
      ...headers,
    },
  })

const LS_REFS = Buffer.concat([pktLine("command=ls-refs\n"), FLUSH_PACKET])

describe("a client without git", () => {
  it("finds only the three routes of smart HTTP", async () => {
    const auth = `Basic ${Buffer.from(`${acme.name}:${acme.key}`).toString("base64")}`
    const ask = (path: string) =>
      fetch(`${server}/git/${encodeURIComponent(acme.name)}.git/${path}`, {
        headers: { authorization: auth },
      })
    for (const path of ["HEAD", "objects/info/packs", "config", "info/attributes", ""]) {
      expect((await ask(path)).status).toBe(404)
    }
    for (const query of ["", "?service=git-upload-archive", "?service=__proto__"]) {
      const answer = await ask(`info/refs${query}`)
      expect([answer.status, await answer.text()]).toEqual([
        403,
        expect.stringMatching(/^not_allowed: Only the smart HTTP protocol/),
      ])
    }
  })

  it("is counted once for packs without a request for the refs", async () => {
    const company = await makeCodeCompany(world)
    const version = { "git-protocol": "version=2" }
    for (let i = 0; i < 3; i += 1) {
      const answer = await post(company, "git-upload-pack", LS_REFS, version)
      expect([answer.status, await answer.text()]).toEqual([200, "0000"])
      expect(await unchargedCallsOf(world, company)).toBe(1)
    }
    await world.operate("clock advance", { duration: "11m" })
    await post(company, "git-upload-pack", LS_REFS, version)
    expect(await unchargedCallsOf(world, company)).toBe(2)
  })

  it("gets a rejection in git's protocol, and 415 for another content type", async () => {
    const pushKey = await keyFor(acme, "code.push")
    const answer = await post(pushKey, "git-upload-pack", LS_REFS)
    expect([answer.status, answer.headers.get("content-type")]).toEqual([
      200,
      "application/x-git-upload-pack-result",
    ])
    expect(await answer.text()).toMatch(/^[0-9a-f]{4}ERR operation_not_granted: /)
    const typed = await post(acme, "git-receive-pack", FLUSH_PACKET, {
      "content-type": "text/plain",
    })
    expect([typed.status, await typed.text()]).toEqual([
      415,
      expect.stringMatching(/^unsupported_media_type: /),
    ])
    const packed = await post(acme, "git-receive-pack", FLUSH_PACKET, { "content-encoding": "br" })
    expect(packed.status).toBe(415)
  })
})

describe("CODE_URL", () => {
  it("serves the repositories and nothing else on its host name", async () => {
    const own = await openWorld("start", {
      url: world.databaseUrl,
      settings: { CODE_URL: "https://Code.example.com" },
    })
    const authorization = `Basic ${Buffer.from(`${acme.name}:${acme.key}`).toString("base64")}`
    const ask = async (host: string, url: string) => {
      const headers = { host, authorization }
      return (await own.app.inject({ method: "GET", url, headers })).statusCode
    }
    await own.ports.repositories.create(acme.companyId)
    const path = `/${encodeURIComponent(acme.name)}.git/info/refs?service=git-upload-pack`
    expect(await ask("code.example.com:443", path)).toBe(200)
    expect(await ask("code.example.com", `/git${path}`)).toBe(404)
    for (const url of ["/", "/readyz", "/api/v1/people", "/docs"]) {
      expect([url, await ask("code.example.com", url)]).toEqual([url, 404])
    }
    expect(await ask("elsewhere.example.com", `/git${path}`)).toBe(200)
    await own.close()
  })

  it("must be another host name than the API's", () => {
    const sameHost = { BASE_URL: "https://a.example.com", CODE_URL: "https://a.example.com/" }
    expect(() => readConfig(sameHost)).toThrow("CODE_URL must have another host name")
    for (const CODE_URL of ["https://a.example.com/git", "foo"])
      expect(() => readConfig({ CODE_URL })).toThrow(
        /^CODE_URL must be the address of a host, .*\.$/,
      )
  })
})
