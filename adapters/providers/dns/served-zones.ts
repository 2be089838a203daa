/**
 * The zones that this process answers for: those asked for last are kept, and looked up again after two
 * seconds, in which other processes may have changed them.
 */
import { getDomain } from "tldts"
import type { ZoneAuthority } from "../../../domain/domains/authority.ts"
import { buildZoneAuthority } from "../../../domain/domains/authority.ts"
import { isSameOrSubdomain } from "../../../domain/domains/host-names.ts"
import type { Zone } from "../../../domain/domains/dns-records.ts"
import type { Pacer } from "../../machine/clock/port.ts"
import { batchCalls } from "../../machine/promises.ts"
import { LRU } from "../../sealing/lru.ts"
import type { LoadZones, NameServer } from "./port.ts"

/** So long one is answered from without another look. */
const CACHE_MS = 2_000
/** So many are kept; a mailing company's zone of 22 records takes 26 KB. */
const CACHE_SIZE = 5_000
/** So many are looked up by one statement, and so many may wait for theirs. */
const LOAD_BATCH_SIZE = 500
const MAX_WAITING = 2_000

/** What they work with. */
export interface ServedZonesPorts {
  readonly pacer: Pacer
  readonly load: LoadZones
  /** Zones that are always served: those of the name servers themselves. */
  readonly fixed: readonly Zone[]
  /** Told where zones could not be looked up; those known are answered from meanwhile. */
  readonly onError: (error: unknown) => void
}

/** Zones, by the names in them. */
export interface ServedZones extends NameServer {
  /**
   * The zone that a name is in, in lower case; null where none is served. `busy` where too many wait for
   * theirs, or it is not known and cannot be looked up.
   */
  readonly findZone: (
    name: string,
  ) => ZoneAuthority | "busy" | null | Promise<ZoneAuthority | "busy" | null>
}

interface CachedZone {
  readonly authority: ZoneAuthority | null
  readonly cachedAt: number
}

/** Opens them. Every domain is one that anybody can register, so a name can be in one zone alone. */
export function openServedZones(ports: ServedZonesPorts): ServedZones {
  const { pacer, load, onError } = ports
  const fixed = ports.fixed.map(buildZoneAuthority)
  const kept = new LRU<string, CachedZone>(CACHE_SIZE)
  const loadOne = batchCalls(LOAD_BATCH_SIZE, load)
  let waiting = 0
  const keep = (apex: string, zone: Zone | null): ZoneAuthority | null => {
    const authority = zone === null ? null : buildZoneAuthority(zone)
    kept.set(apex, { authority, cachedAt: pacer.elapsedMs() })
    return authority
  }
  const look = async (
    apex: string,
    known: CachedZone | undefined,
  ): Promise<ZoneAuthority | "busy" | null> => {
    waiting += 1
    try {
      return keep(apex, await loadOne(apex))
    } catch (error) {
      // Names go on to be found while the database is away.
      onError(error)
      return known === undefined ? "busy" : known.authority
    } finally {
      waiting -= 1
    }
  }
  return {
    findZone: (name) => {
      const own = fixed.find(({ zone }) => isSameOrSubdomain(name, zone.apex))
      if (own !== undefined) return own
      const apex = apexOf(name)
      if (apex === null) return null
      const known = kept.get(apex)
      if (known !== undefined && pacer.elapsedMs() - known.cachedAt < CACHE_MS)
        return known.authority
      return waiting < MAX_WAITING ? look(apex, known) : (known?.authority ?? "busy")
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
