/** Records of which a second one voids both: what is rejected when it is written, and what a check reports. */
import { describe, expect, it } from "vitest"
import type { FoundRecord } from "../../adapters/providers/dns/port.ts"
import { domain } from "../../domain/domains/domain.ts"
import { lookAtRecords } from "../../src/domains/sending-records.ts"
import type { Ports } from "../../src/frame/ports.ts"
import { addSender, connect, oneDomain, row } from "./domain-commands.ts"

const NOW = Date.UTC(2026, 10, 24, 10)

/** A connected domain with a record, and what adding another one comes to. */
function added(...[kept, one]: readonly ReturnType<typeof row>[]) {
  const { ask, state } = oneDomain()
  ask(connect(), NOW)
  for (const record of kept === undefined ? [] : [kept]) ask({ type: "AddRecord", record }, NOW)
  const record = one as ReturnType<typeof row>
  return domain.decide({ type: "AddRecord", record }, state(), { at: NOW })
}

const mx = (id: "rec_1" | "rec_2", content: string) => row(id, "MX", "@", content)
const txt = (id: "rec_1" | "rec_2", label: string, content: string) =>
  row(id, "TXT", label, content)

describe("a second record that voids both", () => {
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
  ])("is rejected with the way out: %s %s", (label, first, second, what) => {
    const refused = added(txt("rec_1", label, first), txt("rec_2", label, second))
    expect(refused).toMatchObject({ type: "DomainRefused", code: "voided" })
    expect(refused).toMatchObject({ message: expect.stringContaining(what) })
    expect(refused).toMatchObject({ message: expect.stringContaining("remove record rec_1") })
  })

  it("is rejected where an MX says that the name takes no mail", () => {
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
      "a policy elsewhere",
      txt("rec_1", "a", "v=DMARC1; p=none"),
      txt("rec_2", "a", "v=DMARC1;p=x"),
    ],
  ])("is none: %s", (_what, first, second) => {
    expect(added(first, second)).toMatchObject([{ type: "RecordAdded" }])
  })

  it("is what the first one is changed to", () => {
    const { ask } = oneDomain()
    ask(connect(), NOW)
    ask({ type: "AddRecord", record: txt("rec_1", "@", "v=spf1 -all") }, NOW)
    const changed = ask({ type: "UpdateRecord", record: txt("rec_1", "@", "v=spf1 ~all") }, NOW)
    expect(changed).toMatchObject([{ type: "RecordUpdated" }])
    const beside = ask({ type: "AddRecord", record: txt("rec_2", "cp-bounce", "v=spf1 -all") }, NOW)
    expect(beside).toMatchObject([{ type: "RecordAdded" }])
    // Setting up mail replaces what stands at its own names.
    expect(ask(addSender("acme.com"), NOW)).toMatchObject([{ replaced: ["rec_2"] }])
  })

  it("is copied as it was: the world sees both", () => {
    const { ask, view } = oneDomain()
    ask(connect([txt("rec_1", "@", "v=spf1 -all"), txt("rec_2", "@", "v=spf1 ~all")]), NOW)
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
    const ask = async (name: string, type: string) => ({
      code: "NOERROR",
      answers: (answered[`${name} ${type}`] ?? []).map(
        (content) => ({ name, type, content, priority: null, ttl: 300 }) as FoundRecord,
      ),
    })
    const settings = () => ({ NS_DOMAIN: "ns.test", EDGE_ADDRESSES: "192.0.2.1" })
    const ports = { resolver: { ask }, settings } as unknown as Pick<Ports, "resolver" | "settings">
    return lookAtRecords(ports, KEY, "acme.com")
  }

  it("finds nothing where there is one of each", async () => {
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

  it("verifies a sending domain with several DMARC policies, and says so", () => {
    const { ask, view } = oneDomain()
    ask(connect(), NOW)
    ask(addSender("acme.com"), NOW)
    const found = { faults: ["several_dmarc"], hasDmarc: true } as const
    ask({ type: "CheckSendingDomain", sendingDomainId: "sdom_1", ...found }, NOW)
    expect(view()?.sendingDomains).toMatchObject([{ status: "verified", faults: found.faults }])
  })
})
