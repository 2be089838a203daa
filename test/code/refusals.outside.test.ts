/** What is refused to a clone or a push, as the person at the terminal reads it. */
import { describe, expect, it } from "vitest"
import { FLUSH_PACKET, pktLine } from "../../adapters/git/port.ts"
import { readConfig } from "../../src/bootstrap/settings/config.ts"
import { unchargedCallsOf, makeKey, openWorld, ownWorld, setLimit } from "../support/world.ts"
import { repositoryUrl, codeWorld, makeCodeCompany } from "./code-world.ts"
import type { Company } from "../support/world.ts"

const world = await ownWorld("time")
const { desk, server } = await codeWorld(world)
const addressOf = ({ name, key }: Pick<Company, "name" | "key">, path = name) =>
  repositoryUrl(server, { user: name, key, path })

const acme = await makeCodeCompany(world, { name: "Acme & Töchter, 100 %" })
await desk.right(["clone", "--quiet", addressOf(acme), "own"])
await desk.commit("own", "a", "a\n")
await desk.right(["push", "--quiet", "origin", "main"], { folder: "own" })

const refsOf = (address: string) => desk.git(["ls-remote", address])

/** A company's key that may do these operations. */
async function keyFor(company: Company, ...operations: string[]): Promise<Company> {
  return { ...company, ...(await makeKey(world, company, { operations })) }
}

describe("who asks", () => {
  it("is asked for a key, and not counted before", async () => {
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

  it("is found by a name in any spelling that is the company's", async () => {
    const { code } = await refsOf(addressOf({ ...acme, name: acme.name.toUpperCase() }))
    expect(code).toBe(0)
  })

  it("is refused with a wrong key, another company's name, or another company's path", async () => {
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
    for (const path of [other.name, "..", `a/${acme.name}`, `${acme.name}.git`, "nobody"]) {
      const { code, stderr } = await refsOf(addressOf(acme, path))
      expect([path, code, stderr]).toEqual([
        path,
        128,
        expect.stringContaining("remote: not_found"),
      ])
    }
    expect(await unchargedCallsOf(world, acme)).toBe(before)
  })

  it("needs an own key, its operations, and the person's permission", async () => {
    const { ownerId } = acme
    const shared = await makeKey(world, acme, { app: true })
    const own = "remote: not_allowed: Use a person's own key: the app key cannot do this."
    expect((await refsOf(addressOf({ ...acme, key: shared.key }))).stderr).toContain(own)
    const pushing = await keyFor(acme, "code.push")
    const lacking = "remote: operation_not_granted: This key has no permission for code.pull"
    expect((await refsOf(addressOf(pushing))).stderr).toContain(lacking)
    const push = ["push", addressOf(pushing), "main"]
    expect((await desk.git(push, { folder: "own" })).stderr).toContain(lacking)
    const reading = ["push", addressOf(await keyFor(acme, "code.pull")), "main"]
    const noPush = "remote: operation_not_granted: This key has no permission for code.push"
    expect((await desk.git(reading, { folder: "own" })).stderr).toContain(noPush)
    const { personId, ...theirs } = await makeKey(world, acme, { role: "user" })
    const may = "remote: not_allowed: The key's person does not have the permission \"Download"
    expect((await refsOf(addressOf({ ...acme, key: theirs.key }))).stderr).toContain(may)
    expect(ownerId).not.toBe(personId)
  })
})

describe("the account", () => {
  it("needs a verified card for a clone, and none for a push", async () => {
    const company = await makeCodeCompany(world, { verified: false })
    const { code, stderr } = await refsOf(addressOf(company))
    const line =
      "remote: card_required: This needs a verified card on file; an owner can verify one."
    expect([code, stderr]).toEqual([128, expect.stringContaining(line)])
    await desk.right(["push", "--quiet", addressOf(company), "main"], { folder: "own" })
  })

  it("stops when it is locked, or a limit is used up", async () => {
    const company = await makeCodeCompany(world)
    await world.operate("company lock", { company: company.companyId })
    expect((await refsOf(addressOf(company))).stderr).toContain("remote: payment_required: ")
    await world.operate("company unlock", { company: company.companyId })
    await setLimit(world, company, { dollars: "0" })
    expect((await refsOf(addressOf(company))).stderr).toContain("remote: spend_limit_reached: ")
    expect(await unchargedCallsOf(world, company)).toBe(0)
  })

  it("has no repository until it is given one", async () => {
    const company = await makeCodeCompany(world, { repository: false })
    const line = "remote: not_found: This company has no repository yet"
    expect((await refsOf(addressOf(company))).stderr).toContain(line)
  })

  it("is not told that it has none where its folder is gone, and the log says what to look at", async () => {
    const company = await makeCodeCompany(world)
    await world.ports.repositories.erase(company.companyId)
    const line = "remote: unavailable: The code server is unavailable."
    expect((await refsOf(addressOf(company))).stderr).toContain(line)
    expect(world.warnings.join()).toContain("the repository is missing from CODE_DIR")
  })

  it("is told where git cannot be used", async () => {
    await world.operate("simulator set", { name: "git", outcome: "unavailable", times: 1 })
    const line = "remote: unavailable: The code server is unavailable. Try again in 30 seconds."
    expect((await refsOf(addressOf(acme))).stderr).toContain(line)
  })
})

/** Asks as git does, without git. */
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

describe("beside git", () => {
  it("only the three routes of smart HTTP are there", async () => {
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

  it("a pack is counted once where nobody asked for the refs", async () => {
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

  it("a refused pack is told in git's protocol, and another type not taken", async () => {
    const pushing = await keyFor(acme, "code.push")
    const answer = await post(pushing, "git-upload-pack", LS_REFS)
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

describe("a host name of its own", () => {
  it("leads to the code and to nothing else", async () => {
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

  it("is not that of the API", () => {
    const both = { BASE_URL: "https://a.example.com", CODE_URL: "https://a.example.com/" }
    expect(() => readConfig(both)).toThrow("CODE_URL must have another host name")
    for (const CODE_URL of ["https://a.example.com/git", "foo"])
      expect(() => readConfig({ CODE_URL })).toThrow(
        /^CODE_URL must be the address of a host, .*\.$/,
      )
  })
})
