/** The rules of a connected domain, and of records that may exist only once. */
import fc from "fast-check"
import { describe, expect, it } from "vitest"
import type { DomainCommand } from "../../domain/domains/domain-commands.ts"
import { findSendingDomainByName, servedZoneOf } from "../../domain/domains/domain-views.ts"
import { DOMAIN_LAPSE_MS, MAX_DOMAIN_RECORDS, domainDecider } from "../../domain/domains/domain.ts"
import {
  OUR_NAME_SERVERS,
  addSenderCommand,
  connectDomainCommand,
  domainCommand,
  domainUnderTest,
  zoneRow,
  saveAddressCommand,
  checkDelegationCommand,
} from "./domain-commands.ts"
import type { ResolvedRecord } from "../../adapters/providers/dns/port.ts"
import { checkSendingRecords } from "../../src/domains/sending-records.ts"
import type { Ports } from "../../src/frame/ports.ts"
import { partialFake } from "../support/partial-fake.ts"

const NOW = Date.UTC(2026, 10, 24, 10)
const DAY_MS = 86_400_000

function connected(...records: Parameters<typeof connectDomainCommand>) {
  const one = domainUnderTest()
  one.ask(connectDomainCommand(...records), NOW)
  return one
}

const types = (facts: readonly { readonly type: string }[] | string) =>
  typeof facts === "string" ? facts : facts.map(({ type }) => type)

describe("a connected domain", () => {
  it("waits, is live once its parent names exactly our name servers, and moved once it does not", () => {
    const one = connected()
    const statuses = [
      ["ns1.old.test"],
      [OUR_NAME_SERVERS[0]],
      [...OUR_NAME_SERVERS].toReversed(),
      [],
      OUR_NAME_SERVERS,
    ].map((seen) => {
      one.ask(checkDelegationCommand(seen), NOW)
      return one.view()?.status
    })
    expect(statuses).toEqual(["waiting", "waiting", "live", "moved", "live"])
    expect(one.ask(checkDelegationCommand([...OUR_NAME_SERVERS].toReversed()), NOW)).toEqual([])
  })

  it("is served while it waits, but not while its parent names another company's name servers", () => {
    const one = connected()
    expect(servedZoneOf(one.state())).toMatchObject({
      apex: "acme.com",
      nameServers: OUR_NAME_SERVERS,
    })
    one.ask(checkDelegationCommand(["ns1-62.ns.test"], { isElsewhere: true }), NOW)
    expect(servedZoneOf(one.state())).toBeNull()
    one.ask(checkDelegationCommand(OUR_NAME_SERVERS), NOW)
    expect(servedZoneOf(one.state())).not.toBeNull()
  })

  it("copies a CNAME without the other records of its name, and no CNAME at the apex", () => {
    const one = connected([
      zoneRow("rec_1", "A", "www", "192.0.2.1", "copied"),
      zoneRow("rec_2", "CNAME", "www", "host.test", "copied"),
      zoneRow("rec_3", "CNAME", "@", "host.test", "copied"),
      zoneRow("rec_4", "A", "@", "192.0.2.1", "copied"),
    ])
    expect(one.view()?.records.map(({ id }) => id)).toEqual(["rec_2", "rec_4"])
  })

  it("copies up to 1,000 records, 100 per fact, and rejects more", () => {
    const many = Array.from({ length: MAX_DOMAIN_RECORDS + 1 }, (_, n) =>
      zoneRow(`rec_${n}`, "TXT", `n${n}`, "words", "copied"),
    )
    expect(domainUnderTest().ask(connectDomainCommand(many), NOW)).toBe("full")
    const one = domainUnderTest()
    expect(one.ask(connectDomainCommand(many.slice(1)), NOW)).toHaveLength(11)
    expect(one.view()?.records).toHaveLength(MAX_DOMAIN_RECORDS)
    expect(one.ask({ type: "AddRecord", record: zoneRow("rec_x", "TXT", "x", "x") }, NOW)).toBe(
      "full",
    )
  })

  it("lapses after 14 days of waiting, but never once it was live", () => {
    const lapse: DomainCommand = { type: "RemoveDomain", domainId: "dom_1", reason: "lapsed" }
    const waiting = connected()
    expect(waiting.ask(lapse, NOW + DOMAIN_LAPSE_MS - 1)).toEqual([])
    expect(types(waiting.ask(lapse, NOW + DOMAIN_LAPSE_MS))).toEqual(["DomainRemoved"])
    expect(waiting.view()).toBeNull()
    expect(waiting.ask(connectDomainCommand(), NOW)).toBe("no_domain")
    const moved = connected()
    moved.ask(checkDelegationCommand(OUR_NAME_SERVERS), NOW)
    moved.ask(checkDelegationCommand([]), NOW)
    expect(moved.ask(lapse, NOW + 2 * DOMAIN_LAPSE_MS)).toEqual([])
  })
})

describe("records", () => {
  it("are rejected if they are duplicates, outside the domain or read-only", () => {
    const caa = zoneRow("rec_1", "CAA", "@", '0 issue "ca.test"', "copied")
    const one = connected([caa, zoneRow("rec_2", "NS", "sub", "ns.other.test", "copied")])
    const record = zoneRow("rec_3", "A", "www", "192.0.2.1")
    one.ask({ type: "AddRecord", record }, NOW)
    const outcome = (command: DomainCommand) => types(one.ask(command, NOW))
    expect(outcome({ type: "AddRecord", record: { ...record, id: "rec_4" } })).toBe("same")
    expect(outcome({ type: "UpdateRecord", record })).toEqual([])
    expect(outcome({ type: "RemoveRecord", recordId: "rec_1" })).toBe("read_only")
    expect(outcome({ type: "UpdateRecord", record: { ...caa, content: "x" } })).toBe("read_only")
    expect(outcome({ type: "RemoveRecord", recordId: "rec_9" })).toBe("no_record")
    const below = zoneRow("rec_5", "A", "a.sub", "192.0.2.1")
    expect(outcome({ type: "AddRecord", record: below })).toBe("delegated")
    const evil = { ...record, id: "rec_6" as const, name: "evilacme.com" }
    expect(outcome({ type: "AddRecord", record: evil })).toBe("not_under")
  })

  it("never have a CNAME next to another record of the same name", () => {
    const one = connected()
    const outcomes = Array.from({ length: 20 }, (_, n) => {
      const type = n % 2 === 0 ? "CNAME" : "A"
      const record = zoneRow(`rec_${n}`, type, "www", type === "A" ? `192.0.2.${n}` : `h${n}.test`)
      return types(one.ask({ type: "AddRecord", record }, NOW))
    })
    expect(outcomes.filter((outcome) => outcome === "clash")).toHaveLength(19)
    expect(one.view()?.records).toHaveLength(1)
  })
})

describe("a sending domain", () => {
  const check = (...faults: ("dkim" | "return_mx")[]): DomainCommand => {
    return { type: "CheckSendingDomain", sendingDomainId: "sdom_1", faults, hasDmarc: true }
  }

  it("is verified only by a check, and fails after three days of faults", () => {
    const one = connected()
    one.ask(addSenderCommand("acme.com"), NOW)
    const at = [[0, "dkim"], [4], [5, "dkim"], [7, "dkim"], [8, "dkim"], [9]] as const
    const statuses = at.map(([days, ...faults]) => {
      one.ask(check(...faults), NOW + days * DAY_MS)
      return one.view()?.sendingDomains[0]?.status
    })
    expect(statuses).toEqual(["pending", "verified", "verified", "verified", "failed", "verified"])
    expect(findSendingDomainByName("mail.acme.com")(one.state())).toBeNull()
    expect(findSendingDomainByName("acme.com")(one.state())).toMatchObject({ selector: "cp1" })
  })

  it("records a check at most once an hour if its result is unchanged", () => {
    const one = connected()
    one.ask(addSenderCommand("acme.com"), NOW)
    expect(one.ask(check(), NOW)).toHaveLength(1)
    expect(one.ask(check(), NOW + 3_599_999)).toEqual([])
    expect(one.ask(check(), NOW + 3_600_000)).toHaveLength(1)
  })

  it("replaces the records at its names, but not its owner's DMARC policy", () => {
    const policy = zoneRow("rec_p", "CNAME", "_dmarc", "policies.test", "copied")
    const one = connected([policy, zoneRow("rec_b", "CNAME", "cp-bounce", "old.test", "copied")])
    one.ask(addSenderCommand("acme.com"), NOW)
    one.ask(addSenderCommand("mail.acme.com", 2), NOW)
    const names = one.view()?.records.map(({ type, name }) => `${type} ${name}`)
    expect(names).toContain("CNAME _dmarc.acme.com")
    expect(names).not.toContain("TXT _dmarc.mail.acme.com")
    expect(names).not.toContain("CNAME cp-bounce.acme.com")
    expect(one.ask(addSenderCommand("acme.com", 3), NOW)).toEqual([])
    expect(one.ask(addSenderCommand("evilacme.com", 4), NOW)).toBe("not_under")
  })
})

describe("an app address", () => {
  it("replaces address records, with a CNAME if the name has no other records", () => {
    const one = connected([
      zoneRow("rec_1", "A", "app", "192.0.2.1", "copied"),
      zoneRow("rec_2", "TXT", "shop", "words", "copied"),
    ])
    one.ask(saveAddressCommand("app", 1), NOW)
    one.ask(saveAddressCommand("shop", 2), NOW)
    one.ask(saveAddressCommand("@", 3), NOW)
    const app = one.view()?.records.filter(({ source }) => source === "app")
    expect(app?.map(({ type, name }) => `${type} ${name}`)).toEqual([
      "CNAME app.acme.com",
      "A shop.acme.com",
      "A acme.com",
    ])
    expect(one.view()?.records.map(({ id }) => id)).not.toContain("rec_1")
    expect(one.ask(saveAddressCommand("app", 4), NOW)).toEqual([])
  })

  const markReached: DomainCommand = { type: "MarkAppAddressReached", hostname: "app.acme.com" }
  const addressUnderTest = () => {
    const one = connected()
    one.ask(saveAddressCommand("app"), NOW)
    const status = () => one.view()?.appAddresses[0]?.status
    const statusAfter = (command: DomainCommand) => {
      one.ask(command, NOW)
      return status()
    }
    return { one, status, statusAfter }
  }

  it("is live after its domain is live and a request has reached it", () => {
    const { statusAfter } = addressUnderTest()
    expect(statusAfter(markReached)).toBe("waiting_dns")
    expect(statusAfter(checkDelegationCommand(OUR_NAME_SERVERS))).toBe("waiting_certificate")
    expect(statusAfter(markReached)).toBe("live")
  })

  it("fails when its domain fails, and waits for a request again when the domain is live again", () => {
    const { statusAfter } = addressUnderTest()
    statusAfter(checkDelegationCommand(OUR_NAME_SERVERS))
    statusAfter(markReached)
    expect(statusAfter(checkDelegationCommand([]))).toBe("failed")
    expect(statusAfter(checkDelegationCommand(OUR_NAME_SERVERS))).toBe("waiting_certificate")
  })

  it("is removed with its records", () => {
    const { one, status } = addressUnderTest()
    expect(types(one.ask({ type: "RemoveRecord", recordId: "rec_1alias" }, NOW))).toEqual([
      "RecordRemoved",
      "AppAddressRemoved",
    ])
    expect(status()).toBeUndefined()
  })
})

describe("a domain after any commands", () => {
  const anyCommands = fc.array(domainCommand, { maxLength: 40 })
  const zoneFacts = [
    "DomainConnected",
    "RecordsCopied",
    "RecordAdded",
    "RecordUpdated",
    "RecordRemoved",
    "SendingDomainAdded",
    "AppAddressSaved",
  ]

  it("has no CNAME next to another record, and a serial that counts the changes", () => {
    fc.assert(
      fc.property(anyCommands, (commands) => {
        const one = domainUnderTest()
        one.ask(connectDomainCommand(), NOW)
        for (const command of commands) {
          one.ask(command, NOW)
          const records = one.view()?.records ?? []
          const aliases = records.filter(({ type }) => type === "CNAME")
          for (const { name } of aliases) {
            expect(records.filter((other) => other.name === name)).toHaveLength(1)
            expect(name).not.toBe("acme.com")
          }
        }
        const changes = one.facts.filter(({ type }) => zoneFacts.includes(type))
        expect(one.state().serial).toBe(changes.length)
      }),
    )
  })
})

/** The decision on adding a second record to a connected domain with one. */
function added(first: ReturnType<typeof zoneRow>, second: ReturnType<typeof zoneRow>) {
  const { ask, state } = domainUnderTest()
  ask(connectDomainCommand(), NOW)
  ask({ type: "AddRecord", record: first }, NOW)
  return domainDecider.decide({ type: "AddRecord", record: second }, state(), { at: NOW })
}

const mx = (id: "rec_1" | "rec_2", content: string) => zoneRow(id, "MX", "@", content)
const txt = (id: "rec_1" | "rec_2", label: string, content: string) =>
  zoneRow(id, "TXT", label, content)

describe("a second record that makes both invalid", () => {
  it.each([
    ["@", "v=spf1 -all", "V=SPF1 include:a.test -all", "SPF record"],
    ["www", "v=spf1", "v=spf1 +all", "SPF record"],
    ["_dmarc", "v=DMARC1; p=none", "v=DMARC1 ;p=reject", "DMARC policy"],
    ["_dmarc.mail", "v=DMARC1;p=none", "v=DMARC1; p=reject", "DMARC policy"],
    ["s1._domainkey", "v=DKIM1; k=rsa; p=AA", "p=BB", "DKIM key"],
    ["s1._domainkey", "v=DKIM1; k=rsa; p=AA", "v=DKIM1; k=rsa; p =BB", "DKIM key"],
    ["_dmarc", "v=DMARC1; p=none", "v = DMARC1; p=reject", "DMARC policy"],
    ["@", "v=spf1 -all", '"v=spf1 ~all"', "SPF record"],
    ["default._bimi", "v=BIMI1; l=", "v=BIMI1; l=https://a.test/b.svg", "BIMI record"],
    ["_mta-sts", "v=STSv1; id=1;", "v=STSv1; id=2;", "MTA-STS record"],
    [
      "_smtp._tls",
      "v=TLSRPTv1; rua=mailto:a@b.test",
      "v=TLSRPTv1;rua=mailto:c@b.test",
      "TLS report",
    ],
  ])("is rejected with the fix: %s %s", (label, first, second, what) => {
    const refused = added(txt("rec_1", label, first), txt("rec_2", label, second))
    expect(refused).toMatchObject({ type: "DomainRefused", code: "voided" })
    expect(refused).toMatchObject({ message: expect.stringContaining(what) })
    expect(refused).toMatchObject({ message: expect.stringContaining("remove record rec_1") })
  })

  it("is rejected if one MX says that the name accepts no mail", () => {
    for (const [first, second] of [
      [".", "mail.acme.com"] as const,
      ["mail.acme.com", "."] as const,
    ]) {
      const refused = added(mx("rec_1", first), mx("rec_2", second))
      expect(refused).toMatchObject({ code: "voided", message: expect.stringContaining("rec_1") })
    }
  })

  it.each([
    ["another text", txt("rec_1", "@", "v=spf1 -all"), txt("rec_2", "@", "verification=4Zb0x7")],
    ["another name", txt("rec_1", "@", "v=spf1 -all"), txt("rec_2", "www", "v=spf1 -all")],
    ["SPF of version 10", txt("rec_1", "@", "v=spf1 -all"), txt("rec_2", "@", "v=spf10 -all")],
    ["a second host", mx("rec_1", "a.acme.com"), mx("rec_2", "b.acme.com")],
    [
      "a policy at another name",
      txt("rec_1", "a", "v=DMARC1; p=none"),
      txt("rec_2", "a", "v=DMARC1;p=x"),
    ],
  ])("is distinguished from %s", (_what, first, second) => {
    expect(added(first, second)).toMatchObject([{ type: "RecordAdded" }])
  })

  it("can replace the first one by a change", () => {
    const { ask } = domainUnderTest()
    ask(connectDomainCommand(), NOW)
    ask({ type: "AddRecord", record: txt("rec_1", "@", "v=spf1 -all") }, NOW)
    const changed = ask({ type: "UpdateRecord", record: txt("rec_1", "@", "v=spf1 ~all") }, NOW)
    expect(changed).toMatchObject([{ type: "RecordUpdated" }])
    const atOtherName = ask(
      { type: "AddRecord", record: txt("rec_2", "cp-bounce", "v=spf1 -all") },
      NOW,
    )
    expect(atOtherName).toMatchObject([{ type: "RecordAdded" }])
    // Setting up mail replaces the records at its own names.
    expect(ask(addSenderCommand("acme.com"), NOW)).toMatchObject([{ replaced: ["rec_2"] }])
  })

  it("is copied from the former host unchanged", () => {
    const { ask, view } = domainUnderTest()
    ask(
      connectDomainCommand([txt("rec_1", "@", "v=spf1 -all"), txt("rec_2", "@", "v=spf1 ~all")]),
      NOW,
    )
    expect(view()?.records).toHaveLength(2)
  })
})

describe("a check", () => {
  const KEY = { name: "mail.acme.com", selector: "cp1", publicKey: "AAAA" }
  const RIGHT = {
    "cp1._domainkey.mail.acme.com TXT": ["v=DKIM1; k=rsa; p=AAAA"],
    "cp-bounce.mail.acme.com MX": ["bounce.ns.test"],
    "cp-bounce.mail.acme.com TXT": ["v=spf1 -all"],
    "_dmarc.acme.com TXT": ["v=DMARC1; p=none"],
  }
  const checked = (seen: Readonly<Record<string, readonly string[]>>) => {
    const answered: Readonly<Record<string, readonly string[]>> = { ...RIGHT, ...seen }
    const query = async (name: string, type: string) => ({
      code: "NOERROR",
      answers: (answered[`${name} ${type}`] ?? []).map(
        (content) => ({ name, type, content, priority: null, ttl: 300 }) as ResolvedRecord,
      ),
    })
    const settings = () => ({ NS_DOMAIN: "ns.test", EDGE_ADDRESSES: "192.0.2.1" })
    const ports = partialFake<Pick<Ports, "resolver" | "settings">>({
      resolver: { query },
      settings,
    })
    return checkSendingRecords(ports, KEY, "acme.com")
  }

  it("finds no faults if there is one record of each", async () => {
    expect(await checked({})).toEqual({ faults: [], hasDmarc: true })
  })

  it.each([
    ["several_dkim", "cp1._domainkey.mail.acme.com TXT", ["p=AAAA", "p=BBBB"]],
    ["several_spf", "cp-bounce.mail.acme.com TXT", ["v=spf1 -all", "v=spf1 ~all"]],
    ["null_mx", "cp-bounce.mail.acme.com MX", ["bounce.ns.test", "."]],
    ["several_dmarc", "_dmarc.mail.acme.com TXT", ["v=DMARC1; p=none", "v=DMARC1; p=reject"]],
    ["several_dmarc", "_dmarc.acme.com TXT", ["v=DMARC1; p=none", "v=DMARC1; p=reject"]],
  ])("reports %s at %s", async (fault, name, contents) => {
    expect((await checked({ [name]: contents })).faults).toEqual([fault])
  })

  it("verifies a sending domain with several DMARC policies, and reports them", () => {
    const { ask, view } = domainUnderTest()
    ask(connectDomainCommand(), NOW)
    ask(addSenderCommand("acme.com"), NOW)
    const found = { faults: ["several_dmarc"], hasDmarc: true } as const
    ask({ type: "CheckSendingDomain", sendingDomainId: "sdom_1", ...found }, NOW)
    expect(view()?.sendingDomains).toMatchObject([{ status: "verified", faults: found.faults }])
  })
})
