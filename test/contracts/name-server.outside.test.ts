import { describe, expect, it, afterAll, beforeEach } from "vitest"
import { machinePacer } from "../../adapters/machine/clock/database-clock.ts"
import type { NameServer } from "../../adapters/providers/dns/port.ts"
import { openPowerDns } from "../../adapters/providers/dns/powerdns.ts"
import { openResolver } from "../../adapters/providers/dns/resolver.ts"
import { zoneRecord, zoneWith, serveZones } from "../dns/dns-server.ts"
import type { PowerDnsServer } from "../support/debian-programs.ts"
import { findFreePort, findPowerDns, startPowerDns } from "../support/debian-programs.ts"

/** A name server that is told zones, and where it answers. */
interface ServedWorld {
  readonly nameServer: NameServer
  /** `address:port`. */
  readonly address: string
}

const LONG = `v=DKIM1; k=rsa; p=${"A".repeat(400)}"\\;漢`

/** Describes a name server. Each test has a domain of its own. */
function describeNameServer(name: string, world: () => ServedWorld): void {
  const ask = async (asked: string, type: "A" | "TXT" | "MX" | "SOA" | "NS" | "CAA" | "SRV") => {
    const { address } = world()
    const resolver = openResolver({ servers: address, pacer: machinePacer })
    const { code, answers } = await resolver.query(asked, type, {
      server: address,
      isRecursive: false,
    })
    const shown = answers.map(({ content, priority }) =>
      priority === null ? content : `${priority} ${content}`,
    )
    return { code, shown: shown.toSorted() }
  }

  describe(`${name}, told zones`, () => {
    it("serves what they hold, with their serial and their name servers", async () => {
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
        shown: ["192.0.2.1", "192.0.2.2"],
      })
      expect((await ask("first.example", "MX")).shown).toEqual(["10 mail.first.example"])
      expect((await ask("cp1._domainkey.first.example", "TXT")).shown).toEqual([LONG])
      expect((await ask("first.example", "CAA")).shown).toEqual(['0 issue "ca.example"'])
      expect((await ask("_sip._tcp.first.example", "SRV")).shown).toEqual([
        "5 0 5060 sip.first.example",
      ])
      expect((await ask("first.example", "SOA")).shown).toEqual(["41"])
      expect((await ask("first.example", "NS")).shown).toEqual([...zone.nameServers])
      expect((await ask("nothing.first.example", "A")).code).toBe("NXDOMAIN")
    })

    it("serves the zone as it is told last, and forgets what is gone", async () => {
      const { nameServer } = world()
      const old = [
        zoneRecord("A", "www.second.example", "192.0.2.1"),
        zoneRecord("TXT", "second.example", "old"),
      ]
      await nameServer.publish(zoneWith("second.example", old, 1))
      await nameServer.publish(zoneWith("second.example", old, 1))
      const now = [zoneRecord("A", "www.second.example", "192.0.2.9")]
      await nameServer.publish(zoneWith("second.example", now, 2))
      expect((await ask("www.second.example", "A")).shown).toEqual(["192.0.2.9"])
      expect(await ask("second.example", "TXT")).toEqual({ code: "NOERROR", shown: [] })
      expect((await ask("second.example", "SOA")).shown).toEqual(["2"])
    })

    it("refuses questions for what is withdrawn, which may be said twice", async () => {
      const { nameServer } = world()
      await nameServer.publish(
        zoneWith("third.example", [zoneRecord("A", "third.example", "192.0.2.1")]),
      )
      expect((await ask("third.example", "A")).shown).toEqual(["192.0.2.1"])
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
const absent = "missing" in found ? found.missing : null

const powerDns = "root" in found ? await startPowerDns(found.root) : null

describe("PowerDNS", () => {
  const here = (): PowerDnsServer => powerDns ?? expect.fail("it is not here")
  beforeEach((ctx) => ctx.skip(absent !== null, absent ?? ""))
  afterAll(() => powerDns?.close())
  describeNameServer("PowerDNS", () => ({
    nameServer: openPowerDns(here()),
    address: here().address,
  }))

  it("says which setting is wrong where it refuses us, and that it is not there", async () => {
    const wrong = openPowerDns({ url: here().url, key: "another" })
    await expect(wrong.withdraw("first.example")).rejects.toThrow("PowerDNS answered 401")
    const nowhere = openPowerDns({ url: `http://127.0.0.1:${await findFreePort()}`, key: "key" })
    await expect(nowhere.withdraw("first.example")).rejects.toMatchObject({
      name: "ProviderUnavailable",
    })
  })
})
