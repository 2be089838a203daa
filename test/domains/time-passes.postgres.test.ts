/** Domains and their sending domains as days pass, and how they end. */
import { beforeEach, describe, expect, it } from "vitest"
import { pendingJobsOf } from "../effects/texts.ts"
import type { Company } from "../support/world.ts"
import { makeCompany } from "../support/world.ts"
import {
  DOMAIN_PATH,
  SENDING_DOMAINS_PATH,
  makeConnectedDomain,
  makeLiveDomain,
  ownDomainWorld,
  postDomain,
  setDnsOutcome,
} from "./domain-world.ts"

const world = await ownDomainWorld()
beforeEach(() => setDnsOutcome(world, "ok"))

const pass = (duration: string) => world.operate("clock advance", { duration })

const domainsOf = async ({ key }: Company) =>
  (await world.call(key, "GET", DOMAIN_PATH)).body.domains

const sendersOf = async ({ key }: Company) =>
  (await world.call(key, "GET", SENDING_DOMAINS_PATH)).body.domains

/** Returns a function that finds the DKIM key of a company's first sending domain. */
async function keyOf(company: Company) {
  const [sending] = await sendersOf(company)
  const owner = { companyId: company.companyId, sendingDomainId: String(sending.id) }
  return () => world.ports.dkimKeys.find(owner)
}

describe("a reservation", () => {
  it("whose domain never pointed here ends after fourteen days and frees the name", async () => {
    const { company, domain } = await makeConnectedDomain(world)
    const other = await makeCompany(world)
    await setDnsOutcome(world, "elsewhere")
    await pass("335h")
    expect(await domainsOf(company)).toMatchObject([{ domain, status: "waiting" }])
    expect(await postDomain(world, other, { domain })).toMatchObject({ status: 409 })
    await pass("1h")
    expect(await domainsOf(company)).toEqual([])
    expect(await postDomain(world, other, { domain })).toMatchObject({
      status: 200,
      body: { domain },
    })
  })

  it("whose domain points here stays, and is checked each day", async () => {
    const { company, domain } = await makeLiveDomain(world)
    await pass("20d")
    expect(await domainsOf(company)).toMatchObject([{ domain, status: "live" }])
    await setDnsOutcome(world, "elsewhere")
    await pass("1d")
    expect(await domainsOf(company)).toMatchObject([{ domain, status: "moved" }])
    await setDnsOutcome(world, "ok")
    await pass("1d")
    expect(await domainsOf(company)).toMatchObject([{ domain, status: "live" }])
  })
})

describe("a sending domain", () => {
  it("fails after its records were wrong for three days, until they are right again", async () => {
    const { company } = await makeLiveDomain(world)
    await pass("6m")
    expect(await sendersOf(company)).toMatchObject([{ status: "verified", error: null }])
    await setDnsOutcome(world, "elsewhere")
    await pass("1d")
    expect(await sendersOf(company)).toMatchObject([
      { status: "verified", error: expect.any(String) },
    ])
    await pass("3d")
    expect(await sendersOf(company)).toMatchObject([
      { status: "failed", error: expect.any(String) },
    ])
    await setDnsOutcome(world, "ok")
    await pass("1d")
    expect(await sendersOf(company)).toMatchObject([{ status: "verified", error: null }])
  })
})

describe("the removal of a domain", () => {
  it("by an operator removes all its data immediately, and the name can be connected again", async () => {
    const { company, domain, domainId } = await makeLiveDomain(world)
    const find = await keyOf(company)
    expect(await find()).toMatchObject({ selector: "cp1" })
    await world.operate("domain remove", { company: company.companyId, domain })
    await world.operate("wait")
    expect(await find()).toBeNull()
    expect((await world.call(company.key, "GET", DOMAIN_PATH)).body).toEqual({
      domain: null,
      domains: [],
    })
    expect(await sendersOf(company)).toEqual([])
    expect(await world.operate("domain list", { company: company.companyId })).toEqual({
      domains: [],
    })
    const again = await postDomain(world, company, { domain })
    expect(again).toMatchObject({ status: 200, body: { domain } })
    expect(again.body.id).not.toBe(domainId)
  })

  it("follows the deletion of its company, with everything of the domain", async () => {
    const { company, domain, domainId } = await makeLiveDomain(world)
    const { companyId, key } = company
    const hostname = `app.${domain}`
    await postDomain(world, company, { action: "save_app_address", domainId, hostname })
    await pass("6m")
    const body = { from: `a@${domain}`, to: ["b@example.com"], subject: "Hi", text: "Hi" }
    const sent = await world.call(key, "POST", "/api/v1/email/send", { body })
    expect(sent).toMatchObject({ status: 200, body: { delivered: ["b@example.com"] } })
    const find = await keyOf(company)
    await world.ports.hostnames.refresh()
    expect(world.ports.hostnames.find(hostname)).not.toBeNull()
    await world.operate("company delete", { company: companyId })
    await pass("14d")
    expect(await find()).toBeNull()
    await world.ports.hostnames.refresh()
    expect(world.ports.hostnames.find(hostname)).toBeNull()
    await pass("1d")
    expect(await pendingJobsOf(world, companyId)).toEqual([])
    const { ok } = await world.operate("audit verify")
    expect(ok).toBe(true)
    const other = await makeCompany(world)
    expect(await postDomain(world, other, { domain })).toMatchObject({ status: 200 })
  })
})
