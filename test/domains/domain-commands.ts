/** Commands about connected domains, as tests mostly want them. */
import fc from "fast-check"
import type { DomainCommand } from "../../domain/domains/domain-commands.ts"
import type { ZoneRow, RecordId } from "../../domain/domains/domain-events.ts"
import { domain } from "../../domain/domains/domain.ts"
import { domainView, wholeZone } from "../../domain/domains/domain-views.ts"
import { asking } from "../support/spec.ts"

/** The name servers of the company. */
export const OURS = ["ns1-61.ns.test", "ns2-61.ns.test"] as const

/** A record of acme.com. */
export function row(
  id: RecordId,
  type: ZoneRow["type"],
  label: string,
  content: string,
  source: ZoneRow["source"] = "added",
): ZoneRow {
  const name = label === "@" ? "acme.com" : `${label}.acme.com`
  const priority = type === "MX" || type === "SRV" ? 10 : null
  return { id, type, name, content, priority, ttl: 300, source }
}

/** Connects acme.com. */
export function connect(records: readonly ZoneRow[] = []): DomainCommand {
  return {
    type: "ConnectDomain",
    domainId: "dom_1",
    name: "acme.com",
    nameServers: OURS,
    formerNameServers: ["ns1.old.test"],
    registrar: "Old Names",
    dnssecOn: false,
    queriedNames: ["@", "www"],
    omitted: [],
    records,
  }
}

/** What the zone above names. */
export function see(
  seen: readonly string[],
  { isElsewhere = false }: { readonly isElsewhere?: boolean } = {},
): DomainCommand {
  return { type: "SeeDelegation", nameServers: seen, isElsewhere, dnssecOn: false }
}

/** Adds a sending domain. */
export function addSender(name: string, n = 1): DomainCommand {
  const label = name === "acme.com" ? "" : `.${name.slice(0, -".acme.com".length)}`
  const records = [
    row(`rec_${n}dkim`, "TXT", `cp1._domainkey${label}`, "v=DKIM1; k=rsa; p=AAAA", "email"),
    row(`rec_${n}mx`, "MX", `cp-bounce${label}`, "bounce.ns.test", "email"),
    row(`rec_${n}spf`, "TXT", `cp-bounce${label}`, "v=spf1 -all", "email"),
    row(`rec_${n}dmarc`, "TXT", `_dmarc${label}`, "v=DMARC1; p=none", "email"),
  ]
  const key = { name, selector: "cp1", publicKey: "AAAA" }
  return { type: "AddSendingDomain", sendingDomainId: `sdom_${n}`, ...key, records }
}

/** Saves an app address. */
export function saveAddress(label: string, n = 1): DomainCommand {
  const hostname = label === "@" ? "acme.com" : `${label}.acme.com`
  return {
    type: "SaveAppAddress",
    appAddressId: `adr_${n}`,
    hostname,
    alias: row(`rec_${n}alias`, "CNAME", label, "apps.ns.test", "app"),
    addresses: [row(`rec_${n}edge`, "A", label, "192.0.2.7", "app")],
  }
}

/** A connected domain, answering commands with facts, or with the code of a refusal. */
export function oneDomain() {
  const one = asking(domain)
  return { ...one, view: () => domainView(one.state()), zone: () => wholeZone(one.state()) }
}

const anyLabel = fc.constantFrom("@", "www", "mail", "cp-bounce", "_dmarc", "cp1._domainkey")
const anyRecord = fc
  .tuple(
    fc.noBias(fc.nat(7)),
    fc.constantFrom<ZoneRow["type"]>("A", "AAAA", "CNAME", "MX", "TXT", "NS"),
    anyLabel,
  )
  .map(([n, type, label]) => {
    const contents = { A: "192.0.2.1", AAAA: "2001:db8::1", CNAME: "host.test", MX: "mx.test" }
    const content = { ...contents, TXT: "words", NS: "ns.other.test", CAA: "", SRV: "" }[type]
    return row(`rec_${n}`, type, label, content)
  })

/** Any command about acme.com. */
export const domainCommand: fc.Arbitrary<DomainCommand> = fc.oneof(
  fc.array(anyRecord, { maxLength: 8 }).map((records) => connect(copiedOf(records))),
  anyRecord.map((record): DomainCommand => ({ type: "AddRecord", record })),
  anyRecord.map((record): DomainCommand => ({ type: "AddRecord", record })),
  anyRecord.map((record): DomainCommand => ({ type: "UpdateRecord", record })),
  anyRecord.map(({ id }): DomainCommand => ({ type: "RemoveRecord", recordId: id })),
  fc.constantFrom("acme.com", "mail.acme.com").map((name) => addSender(name, name.length)),
  anyLabel.map((label) => saveAddress(label, label.length)),
  fc.constantFrom(see(OURS), see(["ns.other.test"]), see([...OURS, "ns3.test"])),
  fc.constantFrom<DomainCommand>(
    { type: "ReachAppAddress", hostname: "www.acme.com" },
    {
      type: "CheckSendingDomain",
      sendingDomainId: "sdom_8",
      faults: ["dkim"],
      hasDmarc: false,
    },
    { type: "CheckSendingDomain", sendingDomainId: "sdom_8", faults: [], hasDmarc: true },
    { type: "RemoveDomain", domainId: "dom_1", reason: "lapsed" },
  ),
)

/** As a copy has them: each with an id of its own. */
const copiedOf = (records: readonly ZoneRow[]): readonly ZoneRow[] =>
  records.map((one, n) => ({ ...one, id: `rec_c${n}`, source: "copied" }))
