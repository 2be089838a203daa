/** A world whose companies connect domains; names are looked up in the built-in world. */
import { afterAll } from "vitest"
import type { Company, World, WorldOptions } from "../support/world.ts"
import { makeCompany, openWorld } from "../support/world.ts"

/** The path of connected domains. */
export const DOMAIN_PATH = "/api/v1/domain"
/** The path of sending domains. */
export const SENDING_DOMAINS_PATH = "/api/v1/email/domains"

/** Opens one in which calls of the API are not limited. */
export function openDomainWorld(options: WorldOptions = {}): Promise<World> {
  const settings = { RATE_LIMITS: "off", ...options.settings }
  return openWorld("settings", { ...options, settings, rateLimits: "off" })
}

/** The same for the calling test file; it is closed after the file. */
export async function ownDomainWorld(options: WorldOptions = {}): Promise<World> {
  const world = await openDomainWorld(options)
  afterAll(() => world.close())
  return world
}

/** Says something to the one path of domains. */
export const postDomain = (world: World, { key }: Pick<Company, "key">, body: object) =>
  world.call(key, "POST", DOMAIN_PATH, { body })

let made = 0

/** A name that no other test has. */
export const newDomainName = (): string => `acme-${(made += 1)}.com`

/** What the built-in world of names does next. */
export const setDnsOutcome = (world: World, outcome: string, times?: number) =>
  world.operate("simulator set", { name: "dns", outcome, ...(times ? { times } : {}) })

/** A company with a domain that is connected and waits. */
export async function makeConnectedDomain(world: World, domain = newDomainName()) {
  const company = await makeCompany(world)
  const { body } = await postDomain(world, company, { domain })
  await world.operate("wait")
  return { company, domain, domainId: String(body.id), detail: body }
}

/** The same, once its registrar names us, and it was checked. */
export async function makeLiveDomain(world: World) {
  const connected = await makeConnectedDomain(world)
  await postDomain(world, connected.company, { check: true })
  await world.operate("wait")
  return connected
}
