/** Scenarios for the answers of the domain routes. */
import type { AnswerScenarios, ReadAfterWriteCases } from "../support/route-scenarios.ts"
import type { ApiAnswer, Company, World } from "../support/world.ts"
import { DOMAIN_PATH, SENDING_DOMAINS_PATH, newDomainName, postDomain } from "./domain-world.ts"

type DomainCall = (
  world: World,
  company: Company,
  domain: string,
  domainId: string,
) => Promise<ApiAnswer>

const RECORD = { type: "TXT", name: "@", content: "verification=4Zb0x7" }

const onLiveDomain =
  (ask: DomainCall): AnswerScenarios[string] =>
  async (world, company) => {
    const domain = newDomainName()
    const { body } = await postDomain(world, company, { domain })
    await world.operate("wait")
    await postDomain(world, company, { check: true, domainId: body.id })
    await world.operate("wait")
    return ask(world, company, domain, body.id)
  }

/** Runs a call on a record of such a domain. */
const onDomainRecord = (bodyFor: (id: string) => object): AnswerScenarios[string] =>
  onLiveDomain(async (world, company, _domain, domainId) => {
    const { body } = await postDomain(world, company, {
      action: "add_record",
      domainId,
      record: RECORD,
    })
    const { id } = body.records.at(-1)
    return postDomain(world, company, { domainId, ...bodyFor(id) })
  })

/** Scenarios by operation and status. */
export const ANSWER_SCENARIOS: AnswerScenarios = {
  "updateRecord 200": onDomainRecord((id) => ({ action: "update_record", id, record: RECORD })),
  "removeRecord 200": onDomainRecord((id) => ({ action: "remove_record", id })),
  "saveAppAddress 200": onLiveDomain((world, company, domain, domainId) =>
    postDomain(world, company, { action: "save_app_address", domainId, hostname: `app.${domain}` }),
  ),
  "getDomain 200": onLiveDomain(async (world, company, domain, domainId) => {
    const hostname = `app.${domain}`
    await postDomain(world, company, { action: "save_app_address", domainId, hostname })
    await world.operate("wait")
    return world.call(company.key, "GET", `${DOMAIN_PATH}?domainId=${domainId}`)
  }),
  "addSendingDomain 200": onLiveDomain((world, company, domain, domainId) =>
    world.call(company.key, "POST", SENDING_DOMAINS_PATH, {
      body: { action: "add", domainId, domain: `mail.${domain}` },
    }),
  ),
  "checkSendingDomain 200": onLiveDomain(async (world, company, domain) => {
    const { body } = await world.call(company.key, "GET", SENDING_DOMAINS_PATH)
    const { id } = body.domains.find((one: { domain: string }) => one.domain === domain)
    return world.call(company.key, "POST", SENDING_DOMAINS_PATH, { body: { action: "check", id } })
  }),
  "listSendingDomains 200": onLiveDomain(async (world, company, domain) => {
    const listed = await world.call(company.key, "GET", SENDING_DOMAINS_PATH)
    const { id } = listed.body.domains.find((one: { domain: string }) => one.domain === domain)
    await world.call(company.key, "POST", SENDING_DOMAINS_PATH, { body: { action: "check", id } })
    await world.call(company.key, "POST", "/api/v1/email/send", {
      body: { from: `hello@${domain}`, to: "ada@example.com", subject: "Hello", text: "Hello" },
    })
    await world.operate("wait")
    return world.call(company.key, "GET", SENDING_DOMAINS_PATH)
  }),
}

/** The company's first domain; connects one if it has none. */
async function firstDomain(world: World, company: Company) {
  const { body } = await world.call(company.key, "GET", DOMAIN_PATH)
  return body.domain === null
    ? (await postDomain(world, company, { domain: newDomainName() })).body
    : body
}

/** Changes, and where each of them is visible. */
export const READ_AFTER_WRITE_CASES: ReadAfterWriteCases = {
  [`GET ${DOMAIN_PATH}`]: {
    writeValue: async (world, company) => {
      const { id: domainId } = await firstDomain(world, company)
      const record = { type: "TXT", name: "@", content: newDomainName() }
      const { body } = await postDomain(world, company, { action: "add_record", domainId, record })
      return body.records.length
    },
    readValue: (body) => body.records.length,
  },
  [`GET ${SENDING_DOMAINS_PATH}`]: {
    writeValue: async (world, company) => {
      const { id, domain } = await firstDomain(world, company)
      const { body } = await world.call(company.key, "GET", SENDING_DOMAINS_PATH)
      const add = { action: "add", domainId: id, domain: `n${body.domains.length}.${domain}` }
      await world.call(company.key, "POST", SENDING_DOMAINS_PATH, { body: add })
      return body.domains.length + 1
    },
    readValue: (body) => body.domains.length,
  },
}
