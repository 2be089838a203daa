/**
 * The zones that this process answers for: those asked for last are kept, and looked up again after two
 * seconds, in which other processes may have changed them.
 */
import { getDomain } from "tldts"
import type { Authority } from "../../../domain/domains/authority.ts"
import { authorityOf } from "../../../domain/domains/authority.ts"
import { isUnder } from "../../../domain/domains/host-names.ts"
import type { Zone } from "../../../domain/domains/records.ts"
import type { Pacer } from "../../machine/clock/port.ts"
import { together } from "../../machine/promises.ts"
import { LRU } from "../../sealing/lru.ts"
import type { LoadZones, NameServer } from "./port.ts"

/** So long one is answered from without another look. */
const FRESH_MS = 2_000
/** So many are kept; a mailing company's zone of 22 records takes 26 KB. */
const MOST_KEPT = 5_000
/** So many are looked up by one statement, and so many may wait for theirs. */
const MOST_AT_ONCE = 500
const MOST_WAITING = 2_000

/** What they work with. */
export interface ServedZonesPorts {
  readonly pacer: Pacer
  readonly load: LoadZones
  /** Zones that are always served: those of the name servers themselves. */
  readonly fixed: readonly Zone[]
  /** Told where zones could not be looked up; those known are answered from meanwhile. */
  readonly onFault: (error: unknown) => void
}

/** Zones, by the names in them. */
export interface ServedZones extends NameServer {
  /**
   * The zone that a name is in, in lower case; null where none is served. `busy` where too many wait for
   * theirs, or it is not known and cannot be looked up.
   */
  readonly of: (name: string) => Authority | "busy" | null | Promise<Authority | "busy" | null>
}

interface Kept {
  readonly authority: Authority | null
  readonly at: number
}

/** Opens them. Every domain is one that anybody can register, so a name can be in one zone alone. */
export function openServedZones(ports: ServedZonesPorts): ServedZones {
  const { pacer, load, onFault } = ports
  const fixed = ports.fixed.map(authorityOf)
  const kept = new LRU<string, Kept>(MOST_KEPT)
  const loadOne = together(MOST_AT_ONCE, load)
  let waiting = 0
  const keep = (apex: string, zone: Zone | null): Authority | null => {
    const authority = zone === null ? null : authorityOf(zone)
    kept.set(apex, { authority, at: pacer.elapsedMs() })
    return authority
  }
  const look = async (
    apex: string,
    known: Kept | undefined,
  ): Promise<Authority | "busy" | null> => {
    waiting += 1
    try {
      return keep(apex, await loadOne(apex))
    } catch (error) {
      // Names go on to be found while the database is away.
      onFault(error)
      return known === undefined ? "busy" : known.authority
    } finally {
      waiting -= 1
    }
  }
  return {
    of: (name) => {
      const own = fixed.find(({ zone }) => isUnder(name, zone.apex))
      if (own !== undefined) return own
      const apex = apexOf(name)
      if (apex === null) return null
      const known = kept.get(apex)
      if (known !== undefined && pacer.elapsedMs() - known.at < FRESH_MS) return known.authority
      return waiting < MOST_WAITING ? look(apex, known) : (known?.authority ?? "busy")
    },
    publish: async (zone) => {
      keep(zone.apex, zone)
    },
    withdraw: async (apex) => {
      keep(apex, null)
    },
  }
}

/** The name above or at this one that somebody can register, or is a company's in a domain of many. */
function apexOf(name: string): string | null {
  return getDomain(name, { allowPrivateDomains: true, validateHostname: false })
}
