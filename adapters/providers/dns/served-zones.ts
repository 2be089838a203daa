/**
 * A cache of the zones that this process serves. Zones are loaded again after two seconds, because
 * other processes may have changed them.
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

const CACHE_MS = 2_000
/** Maximum number of cached zones; a mailing company's zone of 22 records takes 26 KB. */
const CACHE_SIZE = 5_000
/** Maximum number of zones per statement. */
const LOAD_BATCH_SIZE = 500
const MAX_WAITING = 2_000

export interface ServedZonesPorts {
  readonly pacer: Pacer
  readonly load: LoadZones
  /** Zones that are always served: those of the name servers themselves. */
  readonly fixed: readonly Zone[]
  /** Receives errors of loading; cached zones are served meanwhile. */
  readonly onError: (error: unknown) => void
}

/** The served zones, by the names in them. */
export interface ServedZones extends NameServer {
  /**
   * The zone of a name in lower case; null if none is served. `busy` if too many loads are waiting,
   * or the zone is not cached and cannot be loaded.
   */
  readonly findZone: (
    name: string,
  ) => ZoneAuthority | "busy" | null | Promise<ZoneAuthority | "busy" | null>
}

interface CachedZone {
  readonly authority: ZoneAuthority | null
  readonly cachedAt: number
}

/**
 * Opens the zones. Each zone's apex is a registrable domain, so a name belongs to one zone only.
 */
export function openServedZones(ports: ServedZonesPorts): ServedZones {
  const { pacer, load, onError } = ports
  const fixed = ports.fixed.map(buildZoneAuthority)
  const cache = new LRU<string, CachedZone>(CACHE_SIZE)
  const loadOne = batchCalls(LOAD_BATCH_SIZE, load)
  let waiting = 0
  const store = (apex: string, zone: Zone | null): ZoneAuthority | null => {
    const authority = zone === null ? null : buildZoneAuthority(zone)
    cache.set(apex, { authority, cachedAt: pacer.elapsedMs() })
    return authority
  }
  const loadZone = async (
    apex: string,
    known: CachedZone | undefined,
  ): Promise<ZoneAuthority | "busy" | null> => {
    waiting += 1
    try {
      return store(apex, await loadOne(apex))
    } catch (error) {
      // Serve the cached zone while the database is unavailable.
      onError(error)
      return known === undefined ? "busy" : known.authority
    } finally {
      waiting -= 1
    }
  }
  return {
    findZone: (name) => {
      const fixedZone = fixed.find(({ zone }) => isSameOrSubdomain(name, zone.apex))
      if (fixedZone !== undefined) return fixedZone
      const apex = apexOf(name)
      if (apex === null) return null
      const known = cache.get(apex)
      if (known !== undefined && pacer.elapsedMs() - known.cachedAt < CACHE_MS)
        return known.authority
      return waiting < MAX_WAITING ? loadZone(apex, known) : (known?.authority ?? "busy")
    },
    publish: async (zone) => {
      store(zone.apex, zone)
    },
    withdraw: async (apex) => {
      store(apex, null)
    },
  }
}

/** The registrable domain of a name, or the company's domain under a shared suffix. */
function apexOf(name: string): string | null {
  return getDomain(name, { allowPrivateDomains: true, validateHostname: false })
}
