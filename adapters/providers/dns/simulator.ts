/**
 * The built-in world of names: it needs nothing, and every domain in it is registered and served by a
 * pretended host, until it is connected. What its registrar names then can be set (`simulator set dns …`).
 */
import { RECORD_TTL_SECONDS } from "../../../domain/domains/dns-records.ts"
import type { ZoneAuthority, ServedRecord, ZoneAnswer } from "../../../domain/domains/authority.ts"
import { buildZoneAuthority } from "../../../domain/domains/authority.ts"
import type { Zone } from "../../../domain/domains/dns-records.ts"
import type { Pacer } from "../../machine/clock/port.ts"
import { ProviderOutcomeUnknown, ProviderUnavailable } from "../provider-errors.ts"
import type { Simulator, Simulators } from "../simulators/port.ts"
import type { Delegation, DnsAnswer, ResolvedRecord, RegistrarLookup, Resolver } from "./port.ts"
import type { ServedZones } from "./served-zones.ts"

/**
 * What it can be told to do. A connected domain is pointed to us at once (`ok`, and `live` says the same),
 * still `elsewhere` (and `not-live`), to one of our servers and one of the former host's (`half`), or to us
 * with a DS left behind (`signed`).
 */
export const DNS_SIMULATOR = {
  name: "dns",
  outcomes: ["live", "elsewhere", "not-live", "half", "signed"],
} as const satisfies Simulator

const SLOW_DELAY_MS = 2_000
const FORMER_NAME_SERVERS = ["ns1.former-host.example", "ns2.former-host.example"]

/** What it works with. */
export interface SimulatedDnsPorts {
  readonly simulators: Simulators
  readonly pacer: Pacer
  /** What our name server answers for. */
  readonly zones: Pick<ServedZones, "findZone">
}

/** The built-in resolver. Its calls throw ProviderUnavailable and ProviderOutcomeUnknown, as they are set to. */
export function openSimulatedResolver({ simulators, pacer, zones }: SimulatedDnsPorts): Resolver {
  const outcome = async () => {
    const next = await simulators.nextOutcome(DNS_SIMULATOR)
    if (next === "unavailable") throw new ProviderUnavailable("the name servers answered SERVFAIL")
    if (next === "silent") throw new ProviderOutcomeUnknown("the name servers did not answer")
    if (next === "slow") await pacer.pause(SLOW_DELAY_MS)
    return next
  }
  const servedZone = async (name: string): Promise<ZoneAuthority | null> => {
    const found = await zones.findZone(name)
    if (found === "busy") throw new ProviderUnavailable("the zones cannot be looked up")
    return found
  }
  return {
    query: async (name, type) => {
      const said = await outcome()
      const isElsewhere = said === "elsewhere" || said === "not-live"
      const zone = (isElsewhere ? null : await servedZone(name)) ?? formerZone(name)
      return toDnsAnswer(zone.answer(name, type))
    },
    findDelegation: async (domain): Promise<Delegation> => {
      const said = await outcome()
      const zone = await servedZone(domain)
      const ours = zone?.zone.nameServers ?? FORMER_NAME_SERVERS
      const named = { half: [...ours.slice(0, 1), ...FORMER_NAME_SERVERS.slice(0, 1)] }
      const nameServers =
        said === "half"
          ? named.half
          : said === "elsewhere" || said === "not-live"
            ? FORMER_NAME_SERVERS
            : ours
      return { nameServers: nameServers.toSorted(), dnssecOn: said === "signed" }
    },
    copyZone: async (domain) => {
      await outcome()
      return {
        records: formerZone(domain).zone.records,
        omitted: [],
        queriedNames: ["@", "www", "mail"],
      }
    },
  }
}

/** The registrar of every domain in it. */
export const simulatedRegistrarLookup: RegistrarLookup = {
  findRegistrarName: () => Promise.resolve("Example Registrar"),
}

/** What the pretended host serves for the domain that a name is in. */
function formerZone(name: string): ZoneAuthority {
  const apex = name.split(".").slice(-2).join(".")
  const records: Zone["records"] = [
    { type: "A", name: apex, content: "192.0.2.10", priority: null, ttl: RECORD_TTL_SECONDS },
    { type: "CNAME", name: `www.${apex}`, content: apex, priority: null, ttl: RECORD_TTL_SECONDS },
    { type: "MX", name: apex, content: `mail.${apex}`, priority: 10, ttl: RECORD_TTL_SECONDS },
    {
      type: "A",
      name: `mail.${apex}`,
      content: "192.0.2.25",
      priority: null,
      ttl: RECORD_TTL_SECONDS,
    },
    { type: "TXT", name: apex, content: "v=spf1 mx -all", priority: null, ttl: RECORD_TTL_SECONDS },
  ]
  return buildZoneAuthority({ apex, nameServers: FORMER_NAME_SERVERS, serial: 1, records })
}

function toDnsAnswer({ code, isAuthoritative, answers, referral }: ZoneAnswer): DnsAnswer {
  return {
    code,
    isAuthoritative,
    answers: answers.flatMap(toResolvedRecords),
    authorities: referral.flatMap(toResolvedRecords),
  }
}

const toResolvedRecords = ({ type, ...record }: ServedRecord): readonly ResolvedRecord[] =>
  type === "HINFO" ? [] : [{ type, ...record }]
