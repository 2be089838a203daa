/**
 * The simulated domain name system: every domain is registered and served by a simulated former
 * host until it is connected. Operators set its delegation with `simulator set dns …`.
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
 * The simulator's outcomes. A connected domain is delegated to us (`ok`, `live`), still to the
 * former host (`elsewhere`, `not-live`), to one server of each (`half`), or to us with a DS record
 * left behind (`signed`).
 */
export const DNS_SIMULATOR = {
  name: "dns",
  outcomes: ["live", "elsewhere", "not-live", "half", "signed"],
} as const satisfies Simulator

const SLOW_DELAY_MS = 2_000
const FORMER_NAME_SERVERS = ["ns1.former-host.example", "ns2.former-host.example"]

export interface SimulatedDnsPorts {
  readonly simulators: Simulators
  readonly pacer: Pacer
  /** The zones of our name server. */
  readonly zones: Pick<ServedZones, "findZone">
}

/**
 * Opens the simulated resolver. Its calls throw ProviderUnavailable and ProviderOutcomeUnknown as
 * the simulator is set.
 */
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
    if (found === "busy") throw new ProviderUnavailable("the zones cannot be loaded now; try again")
    return found
  }
  return {
    query: async (name, type) => {
      const current = await outcome()
      const isElsewhere = current === "elsewhere" || current === "not-live"
      const zone = (isElsewhere ? null : await servedZone(name)) ?? formerZone(name)
      return toDnsAnswer(zone.answer(name, type))
    },
    findDelegation: async (domain): Promise<Delegation> => {
      const current = await outcome()
      const zone = await servedZone(domain)
      const ours = zone?.zone.nameServers ?? FORMER_NAME_SERVERS
      const mixed = { half: [...ours.slice(0, 1), ...FORMER_NAME_SERVERS.slice(0, 1)] }
      const nameServers =
        current === "half"
          ? mixed.half
          : current === "elsewhere" || current === "not-live"
            ? FORMER_NAME_SERVERS
            : ours
      return { nameServers: nameServers.toSorted(), dnssecOn: current === "signed" }
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

/** The simulated registrar, the same for every domain. */
export const simulatedRegistrarLookup: RegistrarLookup = {
  findRegistrarName: () => Promise.resolve("Example Registrar"),
}

/** The zone that the simulated former host serves for a name's domain. */
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
