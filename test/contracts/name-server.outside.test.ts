import { describe, expect, it, afterAll, beforeEach } from "vitest"
import { machinePacer } from "../../adapters/machine/clock/database-clock.ts"
import type { NameServer } from "../../adapters/providers/dns/port.ts"
import { openPowerDns } from "../../adapters/providers/dns/powerdns.ts"
import { openResolver } from "../../adapters/providers/dns/resolver.ts"
import { zoneRecord, zoneWith, serveZones } from "../dns/dns-server.ts"
import type { PowerDnsServer } from "../support/debian-programs.ts"
import { findFreePort, findPowerDns, startPowerDns } from "../support/debian-programs.ts"

interface ServedWorld {
  readonly nameServer: NameServer
  /** `address:port`. */
  readonly address: string
}

const LONG = `v=DKIM1; k=rsa; p=${"A".repeat(400)}"\\;漢`

/** The contract of name servers. Each test has its own domain. */
function describeNameServer(name: string, world: () => ServedWorld): void {
  const ask = async (hostname: string, type: "A" | "TXT" | "MX" | "SOA" | "NS" | "CAA" | "SRV") => {
    const { address } = world()
    const resolver = openResolver({ servers: address, pacer: machinePacer })
    const { code, answers } = await resolver.query(hostname, type, {
      server: address,
      isRecursive: false,
    })
    const contents = answers.map(({ content, priority }) =>
      priority === null ? content : `${priority} ${content}`,
    )
    return { code, contents: contents.toSorted() }
  }

  describe(`${name}, with published zones`, () => {
    it("serves their records, serials and name servers", async () => {
      const zone = zoneWith(
        "first.example",
        [
          zoneRecord("A", "first.example", "192.0.2.1"),
          zoneRecord("A", "first.example", "192.0.2.2"),
          zoneRecord("MX", "first.example", "mail.first.example", 10),
          zoneRecord("TXT", "cp1._domainkey.first.example", LONG),
          zoneRecord("CAA", "first.example", '0 issue "ca.example"'),
          zoneRecord("SRV", "_sip._tcp.first.example", "0 5060 sip.first.example", 5),
        ],
        41,
      )
      await world().nameServer.publish(zone)
      expect(await ask("first.example", "A")).toEqual({
        code: "NOERROR",
        contents: ["192.0.2.1", "192.0.2.2"],
      })
      expect((await ask("first.example", "MX")).contents).toEqual(["10 mail.first.example"])
      expect((await ask("cp1._domainkey.first.example", "TXT")).contents).toEqual([LONG])
      expect((await ask("first.example", "CAA")).contents).toEqual(['0 issue "ca.example"'])
      expect((await ask("_sip._tcp.first.example", "SRV")).contents).toEqual([
        "5 0 5060 sip.first.example",
      ])
      expect((await ask("first.example", "SOA")).contents).toEqual(["41"])
      expect((await ask("first.example", "NS")).contents).toEqual([...zone.nameServers])
      expect((await ask("nothing.first.example", "A")).code).toBe("NXDOMAIN")
    })

    it("serves the zone as last published, without removed records", async () => {
      const { nameServer } = world()
      const old = [
        zoneRecord("A", "www.second.example", "192.0.2.1"),
        zoneRecord("TXT", "second.example", "old"),
      ]
      await nameServer.publish(zoneWith("second.example", old, 1))
      await nameServer.publish(zoneWith("second.example", old, 1))
      const now = [zoneRecord("A", "www.second.example", "192.0.2.9")]
      await nameServer.publish(zoneWith("second.example", now, 2))
      expect((await ask("www.second.example", "A")).contents).toEqual(["192.0.2.9"])
      expect(await ask("second.example", "TXT")).toEqual({ code: "NOERROR", contents: [] })
      expect((await ask("second.example", "SOA")).contents).toEqual(["2"])
    })

    it("refuses queries for a withdrawn zone, which can be withdrawn twice", async () => {
      const { nameServer } = world()
      await nameServer.publish(
        zoneWith("third.example", [zoneRecord("A", "third.example", "192.0.2.1")]),
      )
      expect((await ask("third.example", "A")).contents).toEqual(["192.0.2.1"])
      await nameServer.withdraw("third.example")
      await nameServer.withdraw("third.example")
      expect((await ask("third.example", "A")).code).toBe("REFUSED")
    })
  })
}

const server = await serveZones([])
afterAll(() => server.close())
describeNameServer("the built-in name server", () => ({
  nameServer: server.served,
  address: server.address,
}))

const found = findPowerDns()
const unavailableReason = "missing" in found ? found.missing : null

const powerDns = "root" in found ? await startPowerDns(found.root) : null

describe("PowerDNS", () => {
  const requirePowerDns = (): PowerDnsServer => powerDns ?? expect.fail("PowerDNS is not installed")
  beforeEach((ctx) => ctx.skip(unavailableReason !== null, unavailableReason ?? ""))
  afterAll(() => powerDns?.close())
  describeNameServer("PowerDNS", () => ({
    nameServer: openPowerDns(requirePowerDns()),
    address: requirePowerDns().address,
  }))

  it("reports the wrong setting if it rejects us, and that it is unavailable", async () => {
    const wrong = openPowerDns({ url: requirePowerDns().url, key: "another" })
    await expect(wrong.withdraw("first.example")).rejects.toThrow("PowerDNS answered 401")
    const unreachable = openPowerDns({
      url: `http://127.0.0.1:${await findFreePort()}`,
      key: "key",
    })
    await expect(unreachable.withdraw("first.example")).rejects.toMatchObject({
      name: "ProviderUnavailable",
    })
  })
})
