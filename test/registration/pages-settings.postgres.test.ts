/** `/api/v1/phone/pages`: how the pages are, as a company saves and reads it. */
import { describe, expect, it } from "vitest"
import { makeConnected, ownDomainWorld, post as postDomain, told } from "../domains/domain-world.ts"
import { makeCompany } from "../support/world.ts"
import { PAGES, SETTINGS, makeHosted, saveBusiness, savePages } from "./paged.ts"

const world = await ownDomainWorld({ settings: { NS_DOMAIN: "ns.example.com" } })

const read = async ({ key }: { readonly key: string }) => (await world.call(key, "GET", PAGES)).body

describe("the settings of pages", () => {
  it("are null before they are saved", async () => {
    const body = await read(await makeCompany(world))
    expect(Object.values(body).every((value) => value === null)).toBe(true)
    expect(Object.keys(body)).toEqual(expect.arrayContaining([...Object.keys(SETTINGS), "domain"]))
  })

  it("need the business first", async () => {
    const company = await makeCompany(world)
    expect(await savePages(world, company)).toMatchObject({
      status: 409,
      body: { error: "conflict", missing: ["business"] },
    })
    await saveBusiness(world, company)
    expect((await savePages(world, company)).status).toBe(200)
  })

  it("are read as they were saved", async () => {
    const company = await makeCompany(world)
    await saveBusiness(world, company)
    const { body } = await savePages(world, company)
    expect(body).toMatchObject({ ...SETTINGS, hostname: null, ownTextUrl: null, domain: null })
    expect(body).toMatchObject({ suggestedHostname: null, liveUrls: null })
    expect(body.previewUrls.texts).toMatch(/^http:\/\/ledger\.test\/p\/[\da-f]{20}\/texts$/)
    expect(await read(company)).toEqual(body)
  })

  it.for<[string, object]>([
    ["hostname", { hostname: "texts.elsewhere.example" }],
    ["hostname", { hostname: "not a host" }],
    ["services", { services: "short" }],
    ["offersPerMonth", { offersPerMonth: 31 }],
    ["supportPhone", { supportPhone: "555" }],
    ["ownTextUrl", { mode: "own_site" }],
  ])("are refused for %s, and stay", async ([field, changed]) => {
    const company = await makeCompany(world)
    await saveBusiness(world, company)
    await savePages(world, company)
    const { status, body } = await savePages(world, company, changed)
    expect([status, Object.keys(body.fields)]).toEqual([400, expect.arrayContaining([field])])
    expect(await read(company)).toMatchObject(SETTINGS)
  })

  it("say where the host name stands, and where the pages are", async () => {
    const { company, domain, domainId } = await makeConnected(world)
    await saveBusiness(world, company)
    const hostname = `texts.${domain}`
    expect(await read(company)).toMatchObject({ domain: null, suggestedHostname: hostname })
    const { body } = await savePages(world, company, { hostname })
    const at = (name: string) => `https://${hostname}/${name}`
    expect(body).toMatchObject({
      domain: { hostname, status: "not_connected", target: "apps.ns.example.com" },
      liveUrls: { texts: at("texts"), terms: at("terms"), privacy: at("privacy") },
    })
    expect(body.domain.error).toContain("save_app_address")
    await postDomain(world, company, { action: "save_app_address", domainId, hostname })
    const domainNow = async () => (await read(company)).domain
    expect(await domainNow()).toMatchObject({
      status: "waiting_dns",
      error: expect.stringContaining("/api/v1/domain") as string,
    })
    await postDomain(world, company, { check: true })
    expect(await domainNow()).toMatchObject({
      status: "waiting_certificate",
      error: expect.stringContaining("https") as string,
    })
    await told(world, "elsewhere", 1)
    await postDomain(world, company, { check: true })
    const failed = await domainNow()
    expect([failed.status, failed.error]).toEqual(["failed", expect.stringContaining("registrar")])
    await world.operate("domain remove", { company: company.companyId, domain })
    expect(await domainNow()).toMatchObject({ status: "not_connected" })
  })

  it("of an erased company are nobody's", async () => {
    const { company } = await makeHosted(world)
    await world.operate("company delete", { company: company.companyId })
    await world.operate("clock advance", { duration: "15d" })
    const { findings = [] } = await world.operate("audit verify", { company: company.companyId })
    expect(findings).toEqual([])
    expect((await world.call(company.key, "GET", PAGES)).status).toBe(401)
  })
})
