/** Commands about connected domains with the usual values. */
import fc from "fast-check"
import type { DomainCommand } from "../../domain/domains/domain-commands.ts"
import type { StoredZoneRecord, RecordId } from "../../domain/domains/domain-events.ts"
import { domainDecider } from "../../domain/domains/domain.ts"
import { viewOfDomain, fullZoneOf } from "../../domain/domains/domain-views.ts"
import { deciderSession } from "../support/decider-spec.ts"

/** The name servers of the company. */
export const OUR_NAME_SERVERS = ["ns1-61.ns.test", "ns2-61.ns.test"] as const

/** A record of acme.com. */
export function zoneRow(
  id: RecordId,
  type: StoredZoneRecord["type"],
  label: string,
  content: string,
  source: StoredZoneRecord["source"] = "added",
): StoredZoneRecord {
  const name = label === "@" ? "acme.com" : `${label}.acme.com`
  const priority = type === "MX" || type === "SRV" ? 10 : null
  return { id, type, name, content, priority, ttl: 300, source }
}

/** Connects acme.com. */
export function connectDomainCommand(records: readonly StoredZoneRecord[] = []): DomainCommand {
  return {
    type: "ConnectDomain",
    domainId: "dom_1",
    name: "acme.com",
    nameServers: OUR_NAME_SERVERS,
    formerNameServers: ["ns1.old.test"],
    registrar: "Old Names",
    dnssecOn: false,
    queriedNames: ["@", "www"],
    omitted: [],
    records,
  }
}

/** Records the name servers that the parent zone names. */
export function checkDelegationCommand(
  seen: readonly string[],
  { isElsewhere = false }: { readonly isElsewhere?: boolean } = {},
): DomainCommand {
  return { type: "RecordDelegation", nameServers: seen, isElsewhere, dnssecOn: false }
}

/** Adds a sending domain. */
export function addSenderCommand(name: string, n = 1): DomainCommand {
  const label = name === "acme.com" ? "" : `.${name.slice(0, -".acme.com".length)}`
  const records = [
    zoneRow(`rec_${n}dkim`, "TXT", `cp1._domainkey${label}`, "v=DKIM1; k=rsa; p=AAAA", "email"),
    zoneRow(`rec_${n}mx`, "MX", `cp-bounce${label}`, "bounce.ns.test", "email"),
    zoneRow(`rec_${n}spf`, "TXT", `cp-bounce${label}`, "v=spf1 -all", "email"),
    zoneRow(`rec_${n}dmarc`, "TXT", `_dmarc${label}`, "v=DMARC1; p=none", "email"),
  ]
  const key = { name, selector: "cp1", publicKey: "AAAA" }
  return { type: "AddSendingDomain", sendingDomainId: `sdom_${n}`, ...key, records }
}

/** Saves an app address. */
export function saveAddressCommand(label: string, n = 1): DomainCommand {
  const hostname = label === "@" ? "acme.com" : `${label}.acme.com`
  return {
    type: "SaveAppAddress",
    appAddressId: `adr_${n}`,
    hostname,
    alias: zoneRow(`rec_${n}alias`, "CNAME", label, "apps.ns.test", "app"),
    addresses: [zoneRow(`rec_${n}edge`, "A", label, "192.0.2.7", "app")],
  }
}

/** A domain that answers commands with facts or the code of a refusal. */
export function domainUnderTest() {
  const one = deciderSession(domainDecider)
  return { ...one, view: () => viewOfDomain(one.state()), zone: () => fullZoneOf(one.state()) }
}

const anyLabel = fc.constantFrom("@", "www", "mail", "cp-bounce", "_dmarc", "cp1._domainkey")
const anyRecord = fc
  .tuple(
    fc.noBias(fc.nat(7)),
    fc.constantFrom<StoredZoneRecord["type"]>("A", "AAAA", "CNAME", "MX", "TXT", "NS"),
    anyLabel,
  )
  .map(([n, type, label]) => {
    const contents = { A: "192.0.2.1", AAAA: "2001:db8::1", CNAME: "host.test", MX: "mx.test" }
    const content = { ...contents, TXT: "words", NS: "ns.other.test", CAA: "", SRV: "" }[type]
    return zoneRow(`rec_${n}`, type, label, content)
  })

/** Any command about acme.com. */
export const domainCommand: fc.Arbitrary<DomainCommand> = fc.oneof(
  fc.array(anyRecord, { maxLength: 8 }).map((records) => connectDomainCommand(copiedOf(records))),
  anyRecord.map((record): DomainCommand => ({ type: "AddRecord", record })),
  anyRecord.map((record): DomainCommand => ({ type: "AddRecord", record })),
  anyRecord.map((record): DomainCommand => ({ type: "UpdateRecord", record })),
  anyRecord.map(({ id }): DomainCommand => ({ type: "RemoveRecord", recordId: id })),
  fc.constantFrom("acme.com", "mail.acme.com").map((name) => addSenderCommand(name, name.length)),
  anyLabel.map((label) => saveAddressCommand(label, label.length)),
  fc.constantFrom(
    checkDelegationCommand(OUR_NAME_SERVERS),
    checkDelegationCommand(["ns.other.test"]),
    checkDelegationCommand([...OUR_NAME_SERVERS, "ns3.test"]),
  ),
  fc.constantFrom<DomainCommand>(
    { type: "MarkAppAddressReached", hostname: "www.acme.com" },
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

const copiedOf = (records: readonly StoredZoneRecord[]): readonly StoredZoneRecord[] =>
  records.map((one, n) => ({ ...one, id: `rec_c${n}`, source: "copied" }))
