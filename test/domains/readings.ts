/** What the routes of domains show. */
import type { Readings } from "../support/readings.ts"
import type { Company, World } from "../support/world.ts"
import { DOMAIN, SENDING, freshName, post } from "./domain-world.ts"

/** The company's first domain, which is connected where it has none. */
async function firstDomain(world: World, company: Company) {
  const { body } = await world.call(company.key, "GET", DOMAIN)
  return body.domain === null ? (await post(world, company, { domain: freshName() })).body : body
}

/** What is shown of each change. */
export const READINGS: Readings = {
  [`GET ${DOMAIN}`]: {
    write: async (world, company) => {
      const { id: domainId } = await firstDomain(world, company)
      const record = { type: "TXT", name: "@", content: freshName() }
      const { body } = await post(world, company, { action: "add_record", domainId, record })
      return body.records.length
    },
    shown: (body) => body.records.length,
  },
  [`GET ${SENDING}`]: {
    write: async (world, company) => {
      const { id, domain } = await firstDomain(world, company)
      const { body } = await world.call(company.key, "GET", SENDING)
      const add = { action: "add", domainId: id, domain: `n${body.domains.length}.${domain}` }
      await world.call(company.key, "POST", SENDING, { body: add })
      return body.domains.length + 1
    },
    shown: (body) => body.domains.length,
  },
}
