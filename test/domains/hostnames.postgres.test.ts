/** Which names a certificate may be had for, and what comes by them. */
import { Client } from "pg"
import { describe, expect, it, vi } from "vitest"
import { makeLiveDomain, ownDomainWorld, postDomain, setDnsOutcome } from "./domain-world.ts"

const world = await ownDomainWorld({ trustProxy: ["127.0.0.0/8"] })

const ask = async (domain: string) =>
  (await world.app.inject({ method: "GET", url: "/tls/ask", query: { domain } })).statusCode

/** A company with a web address, as the list knows it. */
async function makeAddress() {
  const { company, domain, domainId } = await makeLiveDomain(world)
  const hostname = `app.${domain}`
  await postDomain(world, company, { action: "save_app_address", domainId, hostname })
  await world.operate("wait")
  await world.ports.hostnames.refresh()
  return { company, domain, hostname }
}

/** What comes by a host name, and from where. */
const visit = (host: string, headers: Record<string, string> = {}, remoteAddress = "127.0.0.1") =>
  world.app.inject({ method: "GET", url: "/", headers: { host, ...headers }, remoteAddress })

describe("who asks for a certificate", () => {
  it("may have one for a name that leads here, and for no other", async () => {
    const { company, domain, hostname } = await makeAddress()
    expect(await ask(hostname)).toBe(200)
    expect(await ask(hostname.toUpperCase())).toBe(200)
    for (const other of [domain, `x.${hostname}`, `x${hostname}`, "foreign.com", "127.0.0.1"]) {
      expect(await ask(other)).toBe(404)
    }
    await setDnsOutcome(world, "elsewhere", 1)
    await postDomain(world, company, { check: true })
    await world.operate("wait")
    await world.ports.hostnames.refresh()
    expect(await ask(hostname)).toBe(404)
  })

  it("is told no once the domain was removed", async () => {
    const { company, domain, hostname } = await makeAddress()
    await world.operate("domain remove", { company: company.companyId, domain })
    await world.ports.hostnames.refresh()
    expect(await ask(hostname)).toBe(404)
    expect((await visit(hostname)).body).not.toContain("Nothing is here yet")
  })

  it("a thousand times touches no database", async () => {
    const { hostname } = await makeAddress()
    const names = Array.from({ length: 1_000 }, (_, n) => (n % 2 === 0 ? hostname : `n${n}.com`))
    const { queries, said } = await counting(() => Promise.all(names.map(ask)))
    expect(said.filter((status) => status === 200)).toHaveLength(500)
    expect(queries).toBe(0)
    const { queries: counted } = await counting(() => world.ports.hostnames.refresh())
    expect(counted).toBe(1)
  })
})

/** How many questions about names the database was asked meanwhile; it is asked about work all the time. */
async function counting<T>(act: () => Promise<T>): Promise<{ queries: number; said: T }> {
  const asked = vi.spyOn(Client.prototype, "query")
  try {
    const said = await act()
    const texts = asked.mock.calls.map(([query]) => JSON.stringify(query))
    return { said, queries: texts.filter((text) => /hostname|domain/.test(text)).length }
  } finally {
    asked.mockRestore()
  }
}

describe("a company's own web address", () => {
  it("never leads to the API, and is live once somebody came by https", async () => {
    const { company, hostname } = await makeAddress()
    const plain = await visit(hostname)
    expect(plain).toMatchObject({
      statusCode: 404,
      body: expect.stringContaining("Nothing is here"),
    })
    const addresses = async () =>
      (await world.call(company.key, "GET", "/api/v1/domain")).body.appAddresses
    // No trusted proxy says so: anybody could.
    const reaching = vi.spyOn(world.ports.runner, "execute")
    await visit(hostname, { "x-forwarded-proto": "https" }, "203.0.113.1")
    expect(reaching).not.toHaveBeenCalled()
    expect(await addresses()).toMatchObject([{ hostname, status: "waiting_certificate" }])
    await visit(hostname, { "x-forwarded-proto": "https" })
    await expect.poll(addresses).toMatchObject([{ hostname, status: "live" }])
    // Its domain fails and comes back: it waits again, and is live again.
    for (const outcome of ["elsewhere", "ok"]) {
      await setDnsOutcome(world, outcome)
      await postDomain(world, company, { check: true })
      await world.operate("wait")
      await world.ports.hostnames.refresh()
      await visit(hostname, { "x-forwarded-proto": "https" })
    }
    await expect.poll(addresses).toMatchObject([{ hostname, status: "live" }])
  })
})
