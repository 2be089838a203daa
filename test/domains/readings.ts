/** What the routes of domains show. */
import type { OtherAnswers, Readings } from "../support/readings.ts"
import type { ApiAnswer, Company, World } from "../support/world.ts"
import { DOMAIN, SENDING, freshName, post } from "./domain-world.ts"

type Ask = (world: World, company: Company, domain: string, domainId: string) => Promise<ApiAnswer>

const RECORD = { type: "TXT", name: "@", content: "verification=4Zb0x7" }

/** Asks something of a domain that is live, where nothing else is asked. */
const ofLive =
  (ask: Ask): OtherAnswers[string] =>
  async (world, company) => {
    const domain = freshName()
    const { body } = await post(world, company, { domain })
    await world.operate("wait")
    await post(world, company, { check: true, domainId: body.id })
    await world.operate("wait")
    return ask(world, company, domain, body.id)
  }

/** The same, of a record of it. */
const ofRecord = (asked: (id: string) => object): OtherAnswers[string] =>
  ofLive(async (world, company, _domain, domainId) => {
    const { body } = await post(world, company, { action: "add_record", domainId, record: RECORD })
    const { id } = body.records.at(-1)
    return post(world, company, { domainId, ...asked(id) })
  })

/** By name and status. */
export const OTHER_ANSWERS: OtherAnswers = {
  "updateRecord 200": ofRecord((id) => ({ action: "update_record", id, record: RECORD })),
  "removeRecord 200": ofRecord((id) => ({ action: "remove_record", id })),
  "saveAppAddress 200": ofLive((world, company, domain, domainId) =>
    post(world, company, { action: "save_app_address", domainId, hostname: `app.${domain}` }),
  ),
  "getDomain 200": ofLive(async (world, company, domain, domainId) => {
    const hostname = `app.${domain}`
    await post(world, company, { action: "save_app_address", domainId, hostname })
    await world.operate("wait")
    return world.call(company.key, "GET", `${DOMAIN}?domainId=${domainId}`)
  }),
  "addSendingDomain 200": ofLive((world, company, domain, domainId) =>
    world.call(company.key, "POST", SENDING, {
      body: { action: "add", domainId, domain: `mail.${domain}` },
    }),
  ),
  "checkSendingDomain 200": ofLive(async (world, company, domain) => {
    const { body } = await world.call(company.key, "GET", SENDING)
    const { id } = body.domains.find((one: { domain: string }) => one.domain === domain)
    return world.call(company.key, "POST", SENDING, { body: { action: "check", id } })
  }),
  "listSendingDomains 200": ofLive(async (world, company, domain) => {
    const listed = await world.call(company.key, "GET", SENDING)
    const { id } = listed.body.domains.find((one: { domain: string }) => one.domain === domain)
    await world.call(company.key, "POST", SENDING, { body: { action: "check", id } })
    await world.call(company.key, "POST", "/api/v1/email/send", {
      body: { from: `hello@${domain}`, to: "ada@example.com", subject: "Hello", text: "Hello" },
    })
    await world.operate("wait")
    return world.call(company.key, "GET", SENDING)
  }),
}

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
