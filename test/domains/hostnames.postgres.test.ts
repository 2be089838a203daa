/** Host names that get a certificate, and requests to them. */
import { Client } from "pg"
import { describe, expect, it, vi } from "vitest"
import { makeLiveDomain, ownDomainWorld, postDomain, setDnsOutcome } from "./domain-world.ts"

const world = await ownDomainWorld({ trustProxy: ["127.0.0.0/8"] })

const ask = async (domain: string) =>
  (await world.app.inject({ method: "GET", url: "/tls/ask", query: { domain } })).statusCode

/** A company with an app address that the list of host names has. */
async function makeAddress() {
  const { company, domain, domainId } = await makeLiveDomain(world)
  const hostname = `app.${domain}`
  await postDomain(world, company, { action: "save_app_address", domainId, hostname })
  await world.operate("wait")
  await world.ports.hostnames.refresh()
  return { company, domain, hostname }
}

/** A request to a host name from an address. */
const visit = (host: string, headers: Record<string, string> = {}, remoteAddress = "127.0.0.1") =>
  world.app.inject({ method: "GET", url: "/", headers: { host, ...headers }, remoteAddress })

describe("a proxy that asks for a certificate", () => {
  it("may get one for a host name that is served here, and for no other", async () => {
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

  it("is rejected once the domain was removed", async () => {
    const { company, domain, hostname } = await makeAddress()
    await world.operate("domain remove", { company: company.companyId, domain })
    await world.ports.hostnames.refresh()
    expect(await ask(hostname)).toBe(404)
    expect((await visit(hostname)).body).not.toContain("Nothing is here yet")
  })

  it("sends no database query, even for a thousand names", async () => {
    const { hostname } = await makeAddress()
    const names = Array.from({ length: 1_000 }, (_, n) => (n % 2 === 0 ? hostname : `n${n}.com`))
    const { queries, result: statuses } = await countQueries(() => Promise.all(names.map(ask)))
    expect(statuses.filter((status) => status === 200)).toHaveLength(500)
    expect(queries).toBe(0)
    const refresh = await countQueries(() => world.ports.hostnames.refresh())
    expect(refresh.queries).toBe(1)
  })
})

/** Counts the database queries about host names during an action; other queries run all the time. */
async function countQueries<T>(act: () => Promise<T>): Promise<{ queries: number; result: T }> {
  const query = vi.spyOn(Client.prototype, "query")
  try {
    const result = await act()
    const texts = query.mock.calls.map(([text]) => JSON.stringify(text))
    return { result, queries: texts.filter((text) => /hostname|domain/.test(text)).length }
  } finally {
    query.mockRestore()
  }
}

describe("an app address", () => {
  it("never serves the API, and is live after the first request over HTTPS", async () => {
    const { company, hostname } = await makeAddress()
    const plain = await visit(hostname)
    expect(plain).toMatchObject({
      statusCode: 404,
      body: expect.stringContaining("Nothing is here"),
    })
    const addresses = async () =>
      (await world.call(company.key, "GET", "/api/v1/domain")).body.appAddresses
    // The header counts only from a trusted proxy.
    const execute = vi.spyOn(world.ports.runner, "execute")
    await visit(hostname, { "x-forwarded-proto": "https" }, "203.0.113.1")
    expect(execute).not.toHaveBeenCalled()
    expect(await addresses()).toMatchObject([{ hostname, status: "waiting_certificate" }])
    await visit(hostname, { "x-forwarded-proto": "https" })
    await expect.poll(addresses).toMatchObject([{ hostname, status: "live" }])
    // Its domain moves away and comes back: the address waits and becomes live again.
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
