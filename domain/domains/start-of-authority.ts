/** What a zone says of itself, which no row of its records holds: its SOA and its own name servers. */
import type { Zone } from "./records.ts"
import { RECORD_TTL } from "./records.ts"

/** Seconds for which resolvers may keep that there is no such record. */
export const NEGATIVE_TTL = 300
/** Seconds after which a copy of the zone asks again, asks again after a fault, and gives up. */
const REFRESH = 7_200
const RETRY = 900
const EXPIRE = 1_209_600
/** Serials have 32 bits. */
const SERIALS = 2 ** 32

/** The content of a zone's SOA, in the order of the fields. */
export interface StartOfAuthority {
  readonly mname: string
  /** A mail address as a name: that of whoever runs our name servers. */
  readonly rname: string
  readonly serial: number
  readonly refresh: number
  readonly retry: number
  readonly expire: number
  readonly minimum: number
}

/** The SOA of a zone. */
export function startOfAuthority({ nameServers, serial }: Zone): StartOfAuthority {
  const [mname = ""] = nameServers
  const rname = `hostmaster${mname.slice(Math.max(0, mname.indexOf(".")))}`
  return {
    mname,
    rname,
    serial: serial % SERIALS,
    refresh: REFRESH,
    retry: RETRY,
    expire: EXPIRE,
    minimum: NEGATIVE_TTL,
  }
}

/** The zone's own NS. */
export function ownNameServers({ apex, nameServers }: Zone): Zone["records"] {
  return nameServers.map((content) => ({
    type: "NS",
    name: apex,
    content,
    priority: null,
    ttl: RECORD_TTL,
  }))
}
