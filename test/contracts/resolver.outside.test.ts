import { describe, expect, it, afterAll } from "vitest"
import { machinePacer } from "../../adapters/machine/clock/database-clock.ts"
import { openSimulatedResolver } from "../../adapters/providers/dns/simulator.ts"
import type { Resolver } from "../../adapters/providers/dns/port.ts"
import { openPowerDns } from "../../adapters/providers/dns/powerdns.ts"
import { openResolver } from "../../adapters/providers/dns/resolver.ts"
import type { Simulators } from "../../adapters/providers/simulators/port.ts"
import type { Zone } from "../../domain/domains/dns-records.ts"
import { zoneRecord, serveZones, zoneWith } from "../dns/dns-server.ts"
import { openFakeInternet } from "../support/fake-internet.ts"
import { findPowerDns, startPowerDns } from "../support/debian-programs.ts"

/** A resolver in an environment with two registered domains. */
interface ResolverWorld {
  readonly resolver: Resolver
  /** A domain at a former host, with an A record at the apex and a CNAME `www` to it. */
  readonly former: string
  /** A domain delegated to our name servers, which serve the A record `192.0.2.77` at its apex. */
  readonly ours: { readonly domain: string; readonly nameServers: readonly string[] }
}

function describeResolver(title: string, world: () => ResolverWorld): void {
  describe(`${title}, as a resolver`, () => {
    it("answers a query with the served records", async () => {
      const { resolver, ours } = world()
      const { code, answers } = await resolver.query(ours.domain, "A")
      expect(code).toBe("NOERROR")
      expect(answers).toMatchObject([
        { type: "A", name: ours.domain, content: "192.0.2.77", priority: null },
      ])
    })

    it("follows a CNAME, and includes it in the answer", async () => {
      const { resolver, former } = world()
      const { answers } = await resolver.query(`www.${former}`, "A")
      expect(answers.map(({ type, name }) => `${type} ${name}`)).toEqual([
        `CNAME www.${former}`,
        `A ${former}`,
      ])
    })

    it("reports a missing name", async () => {
      const { resolver, ours } = world()
      expect(await resolver.query(`nothing.${ours.domain}`, "TXT")).toMatchObject({
        code: "NXDOMAIN",
        answers: [],
      })
    })

    it("finds the delegation in the parent zone", async () => {
      const { resolver, former, ours } = world()
      const found = await resolver.findDelegation(ours.domain)
      expect(found).toEqual({ nameServers: ours.nameServers, dnssecOn: false })
      const other = await resolver.findDelegation(former)
      expect(other?.nameServers.length).toBeGreaterThan(0)
      expect(other?.nameServers).not.toEqual(ours.nameServers)
    })

    it("copies the records of a former host, each once", async () => {
      const { resolver, former } = world()
      const { records } = await resolver.copyZone(former)
      const lines = records.map(({ type, name }) => `${type} ${name}`)
      expect(lines).toEqual(expect.arrayContaining([`A ${former}`, `CNAME www.${former}`]))
      expect(new Set(records.map((one) => JSON.stringify(one))).size).toBe(records.length)
      expect(lines.filter((line) => line.startsWith("SOA") || line === `NS ${former}`)).toEqual([])
    })
  })
}

const OURS = zoneWith("ours.example", [zoneRecord("A", "ours.example", "192.0.2.77")])
const OLD = "ns1.old.example"
const FORMER: Zone = {
  ...zoneWith("former.example", [
    zoneRecord("A", "former.example", "192.0.2.10"),
    zoneRecord("CNAME", "www.former.example", "former.example"),
    zoneRecord("MX", "former.example", "mail.former.example", 10),
    zoneRecord("TXT", "former.example", "v=spf1 mx -all"),
    zoneRecord("TXT", "_dmarc.former.example", "v=DMARC1; p=none"),
    zoneRecord("CAA", "former.example", '0 issue "ca.example"'),
    zoneRecord("SRV", "_autodiscover._tcp.former.example", "0 443 mail.former.example", 5),
    zoneRecord("NS", "shop.former.example", "ns1.shop.former.example"),
    zoneRecord("A", "ns1.shop.former.example", "192.0.2.9"),
    zoneRecord("A", "unusual-name.former.example", "192.0.2.11"),
    zoneRecord("A", "*.former.example", "192.0.2.12"),
  ]),
  nameServers: [OLD],
}

/** A delegated subdomain with its own server. */
const SHOP: Zone = {
  ...zoneWith("shop.former.example", [zoneRecord("A", "ns1.shop.former.example", "192.0.2.9")]),
  nameServers: ["ns1.shop.former.example"],
}

/** Simulators with an outcome that a test chooses. */
function simulatorsWith(outcome: () => string): Simulators {
  return {
    nextOutcome: <O extends string>() => Promise.resolve(outcome() as O),
    set: () => Promise.resolve(),
    list: () => Promise.resolve([]),
  }
}

const server = await serveZones([OURS])
afterAll(() => server.close())
const ours = { domain: "ours.example", nameServers: OURS.nameServers }

describe("the simulator", () => {
  let outcome = "ok"
  const open = () =>
    openSimulatedResolver({
      simulators: simulatorsWith(() => outcome),
      pacer: machinePacer,
      zones: server.served,
    })
  describeResolver("the simulator", () => ({
    resolver: open(),
    former: "former.example",
    ours,
  }))

  it("delegates a domain and fails as it is set", async () => {
    const [first = "", second = ""] = OURS.nameServers
    const former = ["ns1.former-host.example", "ns2.former-host.example"]
    const expected = {
      live: [first, second],
      elsewhere: former,
      "not-live": former,
      half: [first, former[0]],
      signed: [first, second],
    }
    for (const [setting, nameServers] of Object.entries(expected)) {
      outcome = setting
      expect(await open().findDelegation("ours.example")).toEqual({
        nameServers,
        dnssecOn: setting === "signed",
      })
    }
    outcome = "unavailable"
    await expect(open().copyZone("x.example")).rejects.toMatchObject({
      name: "ProviderUnavailable",
    })
    outcome = "silent"
    await expect(open().query("x.example", "A")).rejects.toMatchObject({
      name: "ProviderOutcomeUnknown",
    })
    outcome = "ok"
  })
})

const internet = await openFakeInternet()
afterAll(() => internet.close())
internet.delegate("former.example", [OLD])
internet.delegate("ours.example", OURS.nameServers)
internet.serveNameServer(OLD, FORMER)
internet.delegate("shop.former.example", SHOP.nameServers)
internet.serveNameServer("ns1.shop.former.example", SHOP)
internet.serveNameServer("ns.localhost", server.address)

describe("a fake internet", () => {
  const resolver = () => openResolver({ servers: internet.address, pacer: machinePacer })
  describeResolver("the real resolver", () => ({
    resolver: resolver(),
    former: "former.example",
    ours,
  }))

  it("is scanned for common names if the zone transfer is refused, and the queried names are returned", async () => {
    const { records, omitted, queriedNames } = await resolver().copyZone("former.example")
    const lines = records.map(({ type, name, content }) => `${type} ${name} ${content}`)
    const missed = "A unusual-name.former.example 192.0.2.11"
    const expected = FORMER.records.map(({ type, name, content }) => `${type} ${name} ${content}`)
    expect(lines.toSorted()).toEqual(expected.filter((line) => line !== missed).toSorted())
    expect(omitted).toEqual([])
    expect(queriedNames).toContain("www")
    expect(queriedNames?.length).toBeGreaterThan(60)
  })

  it("has the registry's delegation: not registered, partly ours, signed, removed", async () => {
    expect(await resolver().findDelegation("unregistered.example")).toBeNull()
    internet.delegate("moving.example", ["ns1-61.ns.localhost", OLD])
    expect((await resolver().findDelegation("moving.example"))?.nameServers).toEqual([
      "ns1-61.ns.localhost",
      OLD,
    ])
    internet.delegate("moving.example", OURS.nameServers, true)
    expect(await resolver().findDelegation("moving.example")).toEqual({
      nameServers: OURS.nameServers,
      dnssecOn: true,
    })
    internet.delegate("moving.example", [])
    expect(await resolver().findDelegation("moving.example")).toBeNull()
  })

  it("has the registry's delegation even if our server already serves the domain", async () => {
    internet.delegate("ours.example", [OLD])
    expect((await resolver().findDelegation("ours.example"))?.nameServers).toEqual([OLD])
    internet.delegate("ours.example", OURS.nameServers)
  })

  it("is unavailable without a listener, and has an unknown outcome without an answer", async () => {
    const unreachable = openResolver({ servers: "127.0.0.1:1", pacer: machinePacer })
    await expect(unreachable.query("x.example", "A")).rejects.toMatchObject({
      name: "ProviderUnavailable",
    })
    const fastPacer = {
      ...machinePacer,
      pause: async (_: number, signal?: AbortSignal) => machinePacer.pause(50, signal),
    }
    internet.delegate("dead.example", ["ns1.dead.example"])
    internet.serveNameServer("ns1.dead.example", "127.0.0.1:9")
    const waiting = openResolver({ servers: internet.address, pacer: fastPacer })
    await expect(waiting.query("dead.example", "A")).rejects.toMatchObject({
      name: "ProviderOutcomeUnknown",
    })
  })
})

const found = findPowerDns()
const unavailableReason = "missing" in found ? found.missing : null

describe("a host that allows zone transfers", () => {
  it("is copied completely, including unusual names", async (ctx) => {
    ctx.skip(unavailableReason !== null, unavailableReason ?? "")
    if (!("root" in found)) throw new Error("PowerDNS is not installed")
    const powerDns = await startPowerDns(found.root)
    const other = await openFakeInternet()
    try {
      await openPowerDns(powerDns).publish(FORMER)
      other.delegate("former.example", [OLD])
      other.serveNameServer(OLD, powerDns.address)
      const resolver = openResolver({ servers: other.address, pacer: machinePacer })
      const { records, queriedNames, omitted } = await resolver.copyZone("former.example")
      expect(queriedNames).toBeNull()
      expect(omitted).toEqual([])
      const lines = (all: Zone["records"]) =>
        all.map(({ type, name, content, priority }) => [type, name, content, priority].join(" "))
      expect(lines(records).toSorted()).toEqual(lines(FORMER.records).toSorted())
    } finally {
      await other.close()
      await powerDns.close()
    }
  })
})
