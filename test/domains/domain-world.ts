/** A world whose companies connect domains; DNS is simulated. */
import { afterAll } from "vitest"
import type { Company, World, WorldOptions } from "../support/world.ts"
import { makeCompany, openWorld } from "../support/world.ts"

export const DOMAIN_PATH = "/api/v1/domain"
/** The path of sending domains. */
export const SENDING_DOMAINS_PATH = "/api/v1/email/domains"

/** Opens such a world without rate limits. */
export function openDomainWorld(options: WorldOptions = {}): Promise<World> {
  const settings = { RATE_LIMITS: "off", ...options.settings }
  return openWorld("settings", { ...options, settings, rateLimits: "off" })
}

/** Opens such a world for the calling test file, and closes it after the file. */
export async function ownDomainWorld(options: WorldOptions = {}): Promise<World> {
  const world = await openDomainWorld(options)
  afterAll(() => world.close())
  return world
}

/** Sends a body to the path of domains. */
export const postDomain = (world: World, { key }: Pick<Company, "key">, body: object) =>
  world.call(key, "POST", DOMAIN_PATH, { body })

let nameCount = 0

/** A domain name that no other test uses. */
export const newDomainName = (): string => `acme-${(nameCount += 1)}.com`

/** Sets the next outcome of the DNS simulator. */
export const setDnsOutcome = (world: World, outcome: string, times?: number) =>
  world.operate("simulator set", { name: "dns", outcome, ...(times ? { times } : {}) })

/** A company with a connected domain that waits. */
export async function makeConnectedDomain(world: World, domain = newDomainName()) {
  const company = await makeCompany(world)
  const { body } = await postDomain(world, company, { domain })
  await world.operate("wait")
  return { company, domain, domainId: String(body.id), detail: body }
}

/** A company with a live domain. */
export async function makeLiveDomain(world: World) {
  const connected = await makeConnectedDomain(world)
  await postDomain(world, connected.company, { check: true })
  await world.operate("wait")
  return connected
}
