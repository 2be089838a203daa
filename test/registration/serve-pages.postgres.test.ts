/** Hosted pages at their preview and at a company's own host name, and their settings. */
import { describe, expect, it } from "vitest"
import {
  makeConnectedDomain,
  ownDomainWorld,
  postDomain,
  setDnsOutcome,
} from "../domains/domain-world.ts"
import { makeCompany } from "../support/world.ts"
import {
  loadHostNames,
  makeHostedPages,
  makePages,
  postPages,
  visitHost,
  PAGES_PATH,
  HOSTED_PAGE_SETTINGS,
  postBusiness,
} from "./opt-in-pages.ts"

const settings = { NS_DOMAIN: "ns.example.com" }
const world = await ownDomainWorld({ trustProxy: ["127.0.0.0/8"], settings })
const LEDGER_HOST = "ledger.test"
const PAGES = ["texts", "terms", "privacy"]

describe("the preview", () => {
  it("serves the three pages, marked as a preview, without indexing by search engines", async () => {
    const preview = await makePages(world, await makeCompany(world))
    for (const name of PAGES) {
      const { status, headers, body } = await visitHost(world, LEDGER_HOST, `${preview}/${name}`)
      expect([name, status, headers["content-type"]]).toEqual([
        name,
        200,
        "text/html; charset=utf-8",
      ])
      expect(body).toContain("Acme Bakery")
      expect(body).toContain("This is a preview.")
      expect(body).toContain('content="noindex"')
      expect(headers).toMatchObject({
        "cache-control": "no-store",
        "content-security-policy": expect.stringContaining("default-src 'none'"),
        "x-content-type-options": "nosniff",
      })
    }
  })

  it("keeps its address, and shows the latest settings", async () => {
    const company = await makeCompany(world)
    const preview = await makePages(world, company)
    const { body } = await postPages(world, company, { services: "something quite new" })
    expect(new URL(body.previewUrls.terms).pathname).toBe(`${preview}/terms`)
    expect((await visitHost(world, LEDGER_HOST, `${preview}/terms`)).body).toContain(
      "something quite new",
    )
  })

  it("escapes HTML in every text", async () => {
    const html = `<b onclick=x>"'&`
    const company = await makeCompany(world)
    const changed = ["legalName", "brandName", "street", "street2", "city"]
    const business = {
      ...Object.fromEntries(changed.map((name) => [name, html])),
      // The carriers' limit is ten characters.
      postalCode: `<i x>"'&`,
    }
    const pages = { services: `${html} and more` }
    const preview = await makePages(world, company, {
      business: { ...business, country: "DE" },
      pages,
    })
    for (const name of PAGES) {
      const { status, body } = await visitHost(world, LEDGER_HOST, `${preview}/${name}`)
      expect([name, status, /<b onclick|<i x>/.test(body)]).toEqual([name, 200, false])
      expect(body).toContain("&lt;b onclick=x&gt;&quot;&#39;&amp;")
    }
  })

  it("is 404 if its address belongs to no company", async () => {
    for (const slug of ["0", "00112233445566778899", "%00", "a".repeat(2_000), "..", "%2e%2e"]) {
      const { status } = await visitHost(world, LEDGER_HOST, `/p/${slug}/texts`)
      expect([slug, status]).toEqual([slug, 404])
    }
  })

  it("accepts only the methods of each page", async () => {
    const preview = await makePages(world, await makeCompany(world))
    const visit = async (method: "HEAD" | "PUT" | "POST", name: string) => {
      const { status, headers } = await visitHost(world, LEDGER_HOST, `${preview}/${name}`, {
        method,
      })
      return [status, headers["allow"]]
    }
    expect(await visit("HEAD", "texts")).toEqual([200, undefined])
    expect(await visit("PUT", "texts")).toEqual([405, "GET, HEAD, POST"])
    expect(await visit("POST", "terms")).toEqual([405, "GET, HEAD"])
  })
})

describe("a company's host name", () => {
  it("serves the three pages, and no other path of this service", async () => {
    const { hostname, preview } = await makeHostedPages(world)
    for (const name of PAGES) {
      const { status, body } = await visitHost(world, hostname, `/${name}`)
      expect([name, status, body.includes("is a preview")]).toEqual([name, 200, false])
    }
    expect(await visitHost(world, hostname, "/")).toMatchObject({
      status: 303,
      headers: { location: "texts" },
    })
    for (const url of ["/docs", "/api/v1/account", `${preview}/texts`, "/healthz", "/texts/"]) {
      const { status, body } = await visitHost(world, hostname, url)
      expect([url, status, body.includes(`The path ${url} does not exist.`)]).toEqual([
        url,
        404,
        true,
      ])
    }
    expect((await visitHost(world, hostname, "/texts", { method: "DELETE" })).status).toBe(405)
  })

  it("requires HTTPS for itself, but not for subdomains, which belong to the company", async () => {
    const { hostname } = await makeHostedPages(world)
    const hstsOf = async (host: string, url: string, method: "GET" | "POST" | "PUT" = "GET") =>
      (await visitHost(world, host, url, { method })).headers["strict-transport-security"]
    for (const url of ["/", "/texts", "/nothing"]) {
      expect([url, await hstsOf(hostname, url)]).toEqual([url, "max-age=31536000"])
    }
    expect(await hstsOf(hostname, "/texts", "PUT")).toBe("max-age=31536000")
    expect(await hstsOf(hostname, "/texts", "POST")).toBe("max-age=31536000")
    expect(await hstsOf(LEDGER_HOST, "/docs")).toContain("includeSubDomains")
  })

  it("is live once it was visited over HTTPS", async () => {
    const { company, hostname } = await makeHostedPages(world)
    const status = async () => {
      const { body } = await world.call(company.key, "GET", "/api/v1/phone/pages")
      return body.domain.status
    }
    expect(await status()).toBe("waiting_certificate")
    await visitHost(world, hostname, "/texts", { headers: { "x-forwarded-proto": "https" } })
    await expect.poll(status).toBe("live")
  })

  it("cannot be taken by another company", async () => {
    const { hostname } = await makeHostedPages(world)
    const { company, domainId, domain } = await makeConnectedDomain(world)
    await makePages(world, company, { pages: { hostname: `x.${domain}` } })
    const { body } = await postPages(world, company, { hostname })
    expect(body.fields).toEqual({ hostname: expect.stringContaining("connected domain") })
    // A host name below the company's own domain that leads elsewhere serves nothing.
    const other = `x.${domain}`
    await postDomain(world, company, { action: "save_app_address", domainId, hostname: other })
    await loadHostNames(world)
    expect((await visitHost(world, hostname, "/texts")).status).toBe(200)
    expect((await visitHost(world, other, "/texts")).status).toBe(404)
  })

  it("serves no pages once it is removed from the settings or its domain is removed", async () => {
    const { company, domain, hostname } = await makeHostedPages(world)
    await postPages(world, company, { hostname: null })
    await loadHostNames(world)
    expect((await visitHost(world, hostname, "/texts")).body).toContain("Nothing is here yet")
    await postPages(world, company, { hostname })
    await loadHostNames(world)
    expect((await visitHost(world, hostname, "/texts")).status).toBe(200)
    await world.operate("domain remove", { company: company.companyId, domain })
    await loadHostNames(world)
    expect((await visitHost(world, hostname, "/texts")).status).toBe(404)
  })

  it("serves no pages if the company uses its own site", async () => {
    const { company, hostname } = await makeHostedPages(world)
    const urlOf = (name: string) => `https://www.acme.example/${name}`
    const urls = { ownTextUrl: urlOf("t"), ownTermsUrl: urlOf("c"), ownPrivacyUrl: urlOf("p") }
    const { body } = await postPages(world, company, { mode: "own_site", hostname, ...urls })
    expect(body.liveUrls).toEqual({ texts: urlOf("t"), terms: urlOf("c"), privacy: urlOf("p") })
    await loadHostNames(world)
    expect((await visitHost(world, hostname, "/texts")).body).toContain("Nothing is here yet")
  })
})

describe("a deleted company's pages", () => {
  it("are 404 immediately, and lose their host name when the company is erased", async () => {
    const { company, hostname, preview } = await makeHostedPages(world)
    await world.operate("company delete", { company: company.companyId })
    const statuses = async () => [
      (await visitHost(world, LEDGER_HOST, `${preview}/texts`)).status,
      (await visitHost(world, hostname, "/texts")).status,
    ]
    expect(await statuses()).toEqual([404, 404])
    await world.operate("clock advance", { duration: "15d" })
    await loadHostNames(world)
    expect(await statuses()).toEqual([404, 404])
    const sites = await world.ports.readAll
      .selectFrom("page_sites")
      .select("hostname")
      .where("company_id", "=", company.companyId)
      .execute()
    expect(sites).toEqual([{ hostname: null }])
  })
})

const read = async ({ key }: { readonly key: string }) =>
  (await world.call(key, "GET", PAGES_PATH)).body

describe("the settings of pages", () => {
  it("are null before they are saved", async () => {
    const body = await read(await makeCompany(world))
    expect(Object.values(body).every((value) => value === null)).toBe(true)
    expect(Object.keys(body)).toEqual(
      expect.arrayContaining([...Object.keys(HOSTED_PAGE_SETTINGS), "domain"]),
    )
  })

  it("can be saved only after the business", async () => {
    const company = await makeCompany(world)
    expect(await postPages(world, company)).toMatchObject({
      status: 409,
      body: { error: "conflict", missing: ["business"] },
    })
    await postBusiness(world, company)
    expect((await postPages(world, company)).status).toBe(200)
  })

  it("are read as they were saved", async () => {
    const company = await makeCompany(world)
    await postBusiness(world, company)
    const { body } = await postPages(world, company)
    expect(body).toMatchObject({
      ...HOSTED_PAGE_SETTINGS,
      hostname: null,
      ownTextUrl: null,
      domain: null,
    })
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
  ])("are rejected as a whole for an invalid %s", async ([field, changed]) => {
    const company = await makeCompany(world)
    await postBusiness(world, company)
    await postPages(world, company)
    const { status, body } = await postPages(world, company, changed)
    expect([status, Object.keys(body.fields)]).toEqual([400, expect.arrayContaining([field])])
    expect(await read(company)).toMatchObject(HOSTED_PAGE_SETTINGS)
  })

  it("show the status of the host name and the addresses of the pages", async () => {
    const { company, domain, domainId } = await makeConnectedDomain(world)
    await postBusiness(world, company)
    const hostname = `texts.${domain}`
    expect(await read(company)).toMatchObject({ domain: null, suggestedHostname: hostname })
    const { body } = await postPages(world, company, { hostname })
    const urlOf = (name: string) => `https://${hostname}/${name}`
    expect(body).toMatchObject({
      domain: { hostname, status: "not_connected", target: "apps.ns.example.com" },
      liveUrls: { texts: urlOf("texts"), terms: urlOf("terms"), privacy: urlOf("privacy") },
    })
    expect(body.domain.error).toContain("save_app_address")
    await postDomain(world, company, { action: "save_app_address", domainId, hostname })
    const currentDomain = async () => (await read(company)).domain
    expect(await currentDomain()).toMatchObject({
      status: "waiting_dns",
      error: expect.stringContaining("/api/v1/domain") as string,
    })
    await postDomain(world, company, { check: true })
    expect(await currentDomain()).toMatchObject({
      status: "waiting_certificate",
      error: expect.stringContaining("https") as string,
    })
    await setDnsOutcome(world, "elsewhere", 1)
    await postDomain(world, company, { check: true })
    const failed = await currentDomain()
    expect([failed.status, failed.error]).toEqual(["failed", expect.stringContaining("registrar")])
    await world.operate("domain remove", { company: company.companyId, domain })
    expect(await currentDomain()).toMatchObject({ status: "not_connected" })
  })
})
