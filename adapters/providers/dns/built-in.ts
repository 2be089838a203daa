/**
 * The built-in world of names: it needs nothing, and every domain in it is registered and served by a
 * pretended host, until it is connected. What its registrar names then can be set (`simulator set dns …`).
 */
import { RECORD_TTL } from "../../../domain/domains/records.ts"
import type { Authority, ServedRecord, ZoneAnswer } from "../../../domain/domains/authority.ts"
import { authorityOf } from "../../../domain/domains/authority.ts"
import type { Zone } from "../../../domain/domains/records.ts"
import type { Pacer } from "../../machine/clock/port.ts"
import { ProviderSilent, ProviderUnavailable } from "../outside.ts"
import type { Simulator, Simulators } from "../simulators/port.ts"
import type { Delegation, DnsAnswer, FoundRecord, Registrar, Resolver } from "./port.ts"
import type { ServedZones } from "./served-zones.ts"

/**
 * What it can be told to do. A connected domain is pointed to us at once (`ok`, and `live` says the same),
 * still `elsewhere` (and `not-live`), to one of our servers and one of the former host's (`half`), or to us
 * with a DS left behind (`signed`).
 */
export const DNS = {
  name: "dns",
  outcomes: ["live", "elsewhere", "not-live", "half", "signed"],
} as const satisfies Simulator

const SLOW_MS = 2_000
const FORMER_HOST = ["ns1.former-host.example", "ns2.former-host.example"]

/** What it works with. */
export interface BuiltInDnsPorts {
  readonly simulators: Simulators
  readonly pacer: Pacer
  /** What our name server answers for. */
  readonly zones: Pick<ServedZones, "of">
}

/** The built-in resolver. Its calls throw ProviderUnavailable and ProviderSilent, as they are set to. */
export function openBuiltInResolver({ simulators, pacer, zones }: BuiltInDnsPorts): Resolver {
  const outcome = async () => {
    const next = await simulators.next(DNS)
    if (next === "unavailable") throw new ProviderUnavailable("the name servers answered SERVFAIL")
    if (next === "silent") throw new ProviderSilent("the name servers did not answer")
    if (next === "slow") await pacer.pause(SLOW_MS)
    return next
  }
  const servedZone = async (name: string): Promise<Authority | null> => {
    const found = await zones.of(name)
    if (found === "busy") throw new ProviderUnavailable("the zones cannot be looked up")
    return found
  }
  return {
    ask: async (name, type) => {
      const said = await outcome()
      const isElsewhere = said === "elsewhere" || said === "not-live"
      const zone = (isElsewhere ? null : await servedZone(name)) ?? formerZone(name)
      return answerOf(zone.answer(name, type))
    },
    delegation: async (domain): Promise<Delegation> => {
      const said = await outcome()
      const zone = await servedZone(domain)
      const ours = zone?.zone.nameServers ?? FORMER_HOST
      const named = { half: [...ours.slice(0, 1), ...FORMER_HOST.slice(0, 1)] }
      const nameServers =
        said === "half"
          ? named.half
          : said === "elsewhere" || said === "not-live"
            ? FORMER_HOST
            : ours
      return { nameServers: nameServers.toSorted(), dnssecOn: said === "signed" }
    },
    copy: async (domain) => {
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
export const builtInRegistrar: Registrar = {
  nameOf: () => Promise.resolve("Example Registrar"),
}

/** What the pretended host serves for the domain that a name is in. */
function formerZone(name: string): Authority {
  const apex = name.split(".").slice(-2).join(".")
  const records: Zone["records"] = [
    { type: "A", name: apex, content: "192.0.2.10", priority: null, ttl: RECORD_TTL },
    { type: "CNAME", name: `www.${apex}`, content: apex, priority: null, ttl: RECORD_TTL },
    { type: "MX", name: apex, content: `mail.${apex}`, priority: 10, ttl: RECORD_TTL },
    { type: "A", name: `mail.${apex}`, content: "192.0.2.25", priority: null, ttl: RECORD_TTL },
    { type: "TXT", name: apex, content: "v=spf1 mx -all", priority: null, ttl: RECORD_TTL },
  ]
  return authorityOf({ apex, nameServers: FORMER_HOST, serial: 1, records })
}

function answerOf({ code, isAuthoritative, answers, referral }: ZoneAnswer): DnsAnswer {
  return {
    code,
    isAuthoritative,
    answers: answers.flatMap(foundOf),
    authorities: referral.flatMap(foundOf),
  }
}

const foundOf = ({ type, ...record }: ServedRecord): readonly FoundRecord[] =>
  type === "HINFO" ? [] : [{ type, ...record }]
