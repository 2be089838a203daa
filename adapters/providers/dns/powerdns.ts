/**
 * PowerDNS (https://doc.powerdns.com/authoritative/http-api/) as the name server. Our facts are the
 * source of the records; each publish makes PowerDNS's copy equal to them.
 */
import { z } from "zod"
import type { RecordBody, Zone } from "../../../domain/domains/dns-records.ts"
import {
  apexNameServers,
  startOfAuthority,
  formatRecordContent,
} from "../../../domain/domains/zone-file.ts"
import type { JsonRequest } from "../json-request.ts"
import { requestJson } from "../json-request.ts"
import { ProviderUnavailable } from "../provider-errors.ts"
import type { NameServer } from "./port.ts"

const PROVIDER = "PowerDNS"
/** More than the zone of the largest company. */
const MAX_BYTES = 50_000_000

/** How to reach PowerDNS. */
export interface PowerDnsSettings {
  /** The address of its API, such as http://127.0.0.1:8081. */
  readonly url: string
  readonly key: string
}

/**
 * PowerDNS refused a request: the settings or this program are wrong, and a retry does not help.
 */
class PowerDnsRejected extends ProviderUnavailable {}

const ZoneResponse = z.object({
  rrsets: z.array(z.object({ name: z.string(), type: z.string() })),
})

interface RecordSet {
  readonly name: string
  readonly type: string
  readonly ttl: number
  readonly changetype: "REPLACE" | "DELETE"
  readonly records: readonly { readonly content: string; readonly disabled: false }[]
}

/** PowerDNS, with a connection check. */
export interface PowerDns extends NameServer {
  /**
   * Checks whether PowerDNS answers; changes nothing. @throws ProviderUnavailable,
   * ProviderOutcomeUnknown
   */
  readonly checkConnection: () => Promise<void>
}

/**
 * Opens the adapter; it connects when the first zone is published. Calls also throw
 * PowerDnsRejected.
 */
export function openPowerDns(settings: PowerDnsSettings): PowerDns {
  const zones = "/api/v1/servers/localhost/zones"
  const one = (apex: string) => `${zones}/${apex}.`
  return {
    publish: async (zone) => {
      const { apex, nameServers } = zone
      const name = `${apex}.`
      const body = { name, kind: "Native", nameservers: nameServers.map((host) => `${host}.`) }
      // 409: the zone exists.
      await call(settings, "POST", zones, { ...body, soa_edit_api: "" }, [201, 409])
      const { value } = await call(settings, "GET", one(apex), null, [200])
      const { data } = ZoneResponse.safeParse(value)
      if (data === undefined)
        throw new PowerDnsRejected(`${PROVIDER} answered GET ${one(apex)} in an unknown form`)
      const sets = recordSetsOf(zone)
      const isServed = (known: { readonly name: string; readonly type: string }) =>
        sets.some((set) => set.name === known.name.toLowerCase() && set.type === known.type)
      const removed = data.rrsets
        .filter((known) => !isServed(known))
        .map((known) => ({ name: known.name, type: known.type, changetype: "DELETE" }))
      // One call, so that no half-updated zone is served.
      await call(settings, "PATCH", one(apex), { rrsets: [...removed, ...sets] }, [204])
    },
    withdraw: async (apex) => {
      await call(settings, "DELETE", one(apex), null, [204, 404])
    },
    checkConnection: async () => {
      await call(settings, "GET", "/api/v1/servers/localhost", null, [200])
    },
  }
}

/** The record sets of a zone, with its SOA and NS records. */
function recordSetsOf(zone: Zone): readonly RecordSet[] {
  const { mname, rname, serial, refresh, retry, expire, minimum } = startOfAuthority(zone)
  const times = `${serial} ${refresh} ${retry} ${expire} ${minimum}`
  const keyed = Map.groupBy(
    [...apexNameServers(zone), ...zone.records],
    ({ name, type }) => `${type} ${name}`,
  )
  const sets = [...keyed.values()].flatMap((records) => toRecordSet(records) ?? [])
  return [
    ...sets,
    {
      name: `${zone.apex}.`,
      type: "SOA",
      ttl: minimum,
      changetype: "REPLACE",
      records: [{ content: `${mname}. ${rname}. ${times}`, disabled: false }],
    },
  ]
}

function toRecordSet(
  records: readonly (RecordBody & { readonly ttl: number })[],
): RecordSet | null {
  const [first] = records
  if (first === undefined) return null
  return {
    name: `${first.name}.`,
    type: first.type,
    changetype: "REPLACE",
    ttl: Math.min(...records.map(({ ttl }) => ttl)),
    records: records.map((record) => ({ content: formatRecordContent(record), disabled: false })),
  }
}

/**
 * @throws PowerDnsRejected for an unexpected status, ProviderUnavailable, ProviderOutcomeUnknown
 */
async function call(
  { url, key }: PowerDnsSettings,
  method: NonNullable<JsonRequest["method"]>,
  path: string,
  body: object | null,
  expected: readonly number[],
): Promise<{ readonly value: unknown }> {
  const { status, value } = await requestJson({
    provider: PROVIDER,
    url: new URL(path, url),
    method,
    headers: { "x-api-key": key },
    ...(body === null ? {} : { body }),
    maxBytes: MAX_BYTES,
    definitiveStatuses: expected,
  })
  if (expected.includes(status)) return { value }
  const details = JSON.stringify(value ?? null).slice(0, 200)
  throw new PowerDnsRejected(`${PROVIDER} answered ${status} to ${method} ${path}: ${details}`)
}
