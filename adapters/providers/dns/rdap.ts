/**
 * Looks up a domain's registrar by RDAP (RFC 9082, 9083, 9224). It never blocks anything: on
 * failure the registrar is null.
 */
import { z } from "zod"
import type { Pacer } from "../../machine/clock/port.ts"
import { requestJson } from "../json-request.ts"
import { providerResultOrNull } from "../provider-errors.ts"
import type { RegistrarLookup } from "./port.ts"

/** IANA's list of the RDAP servers of top-level domains. */
const BOOTSTRAP_URL = "https://data.iana.org/rdap/dns.json"
const TIMEOUT_MS = 3_000
const CACHE_MS = 24 * 3_600_000
const PROVIDER = "RDAP"

const Bootstrap = z.object({
  services: z.array(z.tuple([z.array(z.string()), z.array(z.string())])),
})
type Services = z.output<typeof Bootstrap>["services"]

/** A property of a jCard (RFC 7095): name, parameters, type, values. */
const Property = z.tuple([z.string(), z.unknown(), z.string()], z.unknown())
const DomainResponse = z.object({
  entities: z
    .array(
      z.object({
        roles: z.array(z.string()).default([]),
        vcardArray: z.tuple([z.literal("vcard"), z.array(Property)]).optional(),
      }),
    )
    .default([]),
})

export interface RdapOptions {
  readonly pacer: Pacer
  /** Address of the list of servers; default: IANA's. */
  readonly bootstrapUrl?: string
}

/** Opens the lookup; it connects for the first domain. */
export function openRdap({ pacer, bootstrapUrl = BOOTSTRAP_URL }: RdapOptions): RegistrarLookup {
  let cached: { readonly services: Services; readonly at: number } | null = null
  const services = async (): Promise<Services> => {
    if (cached !== null && pacer.elapsedMs() - cached.at < CACHE_MS) return cached.services
    const { value } = await requestJson({ provider: PROVIDER, url: new URL(bootstrapUrl) })
    const { data } = Bootstrap.safeParse(value)
    if (data === undefined) return []
    cached = { services: data.services, at: pacer.elapsedMs() }
    return cached.services
  }
  const lookUp = async (domain: string): Promise<string | null> => {
    const base = findBaseUrl(await services(), domain)
    if (base === null) return null
    const url = new URL(`domain/${domain}`, base.endsWith("/") ? base : `${base}/`)
    return registrarNameFrom((await requestJson({ provider: PROVIDER, url })).value)
  }
  return {
    findRegistrarName: (domain) =>
      providerResultOrNull(pacer, PROVIDER, lookUp(domain), TIMEOUT_MS),
  }
}

/** The server of the longest matching suffix of a domain; null if there is none. */
function findBaseUrl(services: Services, domain: string): string | null {
  const labels = domain.split(".")
  for (let i = 1; i < labels.length; i += 1) {
    const end = labels.slice(i).join(".")
    const found = services.find(([ends]) => ends.includes(end))
    if (found === undefined) continue
    const secure = found[1].find((url) => url.startsWith("https://")) ?? found[1][0]
    return secure !== undefined && URL.canParse(secure) ? secure : null
  }
  return null
}

function registrarNameFrom(value: unknown): string | null {
  const { data } = DomainResponse.safeParse(value)
  const card = data?.entities.find(({ roles }) => roles.includes("registrar"))?.vcardArray
  const name = card?.[1].find(([property]) => property === "fn")?.[3]
  return typeof name === "string" && name !== "" ? name : null
}
