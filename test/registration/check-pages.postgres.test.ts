/** The check of a company's pages: hosted pages, pages of its own site, and the route. */
import { createHash } from "node:crypto"
import { describe, expect, it } from "vitest"
import type { SiteReader } from "../../adapters/providers/sites/port.ts"
import { openPublicSites } from "../../adapters/providers/sites/public-sites.ts"
import { domainStreamOf } from "../../domain/domains/aggregates.ts"
import type { DomainId } from "../../domain/domains/domain-events.ts"
import {
  REGISTRATION_AGGREGATE,
  registrationStreamOf,
} from "../../domain/registration/aggregates.ts"
import { registrationDraftOf } from "../../domain/registration/registration-views.ts"
import { causedBy } from "../../src/frame/kernel/envelope.ts"
import { Business } from "../../src/registration/business.ts"
import { checkPages } from "../../src/registration/check-pages.ts"
import { renderHostedPage } from "../../src/registration/hosted-pages.ts"
import { findProblemsInThread } from "../../src/registration/page-analysis.ts"
import { type PageName, PAGE_NAMES, TextingPages } from "../../src/registration/texting-pages.ts"
import { openSemaphore } from "../../src/registration/page-analysis.ts"
import { makeLiveDomain, postDomain } from "../domains/domain-world.ts"
import { PUBLIC_ADDRESS, ManualTime, openSiteServer } from "../sites/site-server.ts"
import { type Company, makeCompany, sharedWorld } from "../support/world.ts"
import { postBusiness, postPages } from "./opt-in-pages.ts"
import { BUSINESS_INPUT, OWN_SITE_PAGES } from "./registration-world.ts"
import { newSignal } from "../support/signal.ts"

const business = Business.parse(BUSINESS_INPUT)
const ownSitePages = TextingPages.parse(OWN_SITE_PAGES)
const content = { business, pages: ownSitePages, isPreview: false, savedAt: 0 }
const html = (name: PageName) => renderHostedPage(name, content, "")
const saved = { business, pages: { pages: ownSitePages, slug: "ab12", savedAt: 0 } }
const hashOf = (text: string) => createHash("sha256").update(text).digest("hex")

/** Checks pages of the company's own site, read by `read`. */
const checkOwnSite = (read: SiteReader["read"], time = new ManualTime()) =>
  checkPages({ siteReader: { read }, pacer: time.pacer }, saved, false)

const nameIn = (url: string) => PAGE_NAMES.find((name) => url.endsWith(name)) ?? "texts"
const pageAt = (url: string, text = html(nameIn(url))) =>
  ({ kind: "page", html: text, sha256: hashOf(text), url }) as const

describe("pages of the company's own site", () => {
  it("pass without problems, each with the hash of its content", async () => {
    const { problems, hashes } = await checkOwnSite(async (url) => pageAt(url))
    expect(problems).toEqual([])
    expect(hashes).toEqual(PAGE_NAMES.map((page) => ({ page, sha256: hashOf(html(page)) })))
  })

  it.each([
    ...(["unreachable", "not_https", "login_needed", "too_large", "too_slow"] as const),
    "blocked_address" as const,
  ])("have the problem %s on each page", async (code) => {
    const { problems, hashes } = await checkOwnSite(async () => ({ kind: "problem", code }))
    expect(problems.map((one) => [one.page, one.code])).toEqual(
      PAGE_NAMES.map((page) => [page, code]),
    )
    expect(problems.every(({ message }) => message.endsWith("."))).toBe(true)
    expect(hashes.map(({ sha256 }) => sha256)).toEqual([null, null, null])
  })

  it("have their problems listed by page", async () => {
    const { problems } = await checkOwnSite(async (url) =>
      url.endsWith("terms") ? pageAt(url, html("terms").replaceAll("HELP", "us")) : pageAt(url),
    )
    expect(problems.map(({ page, code }) => `${page} ${code}`)).toEqual(["terms no_help"])
  })

  it("are read concurrently, within fifteen seconds", async () => {
    const time = new ManualTime()
    const urls: string[] = []
    const checked = checkOwnSite(async (url) => {
      urls.push(url)
      return new Promise(() => undefined)
    }, time)
    expect(urls).toHaveLength(3)
    time.pass(15_000)
    const { problems } = await checked
    expect(problems.map(({ code }) => code)).toEqual(["too_slow", "too_slow", "too_slow"])
    expect(time.waiting).toBe(0)
  })

  it("are checked one check at a time, and waiting counts toward the fifteen seconds", async () => {
    const time = new ManualTime()
    const urls: string[] = []
    const silent = async (url: string) => {
      urls.push(url)
      return new Promise<never>(() => undefined)
    }
    const first = checkOwnSite(silent, time)
    time.pass(5_000)
    const second = checkOwnSite(async (url) => {
      urls.push(`second ${url}`)
      return pageAt(url)
    }, time)
    const third = checkOwnSite(silent, time)
    expect(urls).toHaveLength(3)
    time.pass(10_000)
    expect((await first).problems).toHaveLength(3)
    expect((await second).problems).toEqual([])
    expect(urls.filter((one) => one.startsWith("second"))).toHaveLength(3)
    time.pass(5_000)
    expect((await third).problems.map(({ code }) => code)).toEqual(Array(3).fill("too_slow"))
    expect(time.waiting).toBe(0)
  })

  it("are read over TLS", async () => {
    const site = await openSiteServer((request, response) => {
      response.writeHead(200, { "content-type": "text/html; charset=utf-8" })
      response.end(html(nameIn(request.url ?? "")))
    })
    const time = new ManualTime()
    const { read } = openPublicSites({
      pacer: time.pacer,
      isOwn: () => false,
      resolve: async () => [PUBLIC_ADDRESS],
      connect: site.connect,
    })
    const { problems } = await checkOwnSite(read, time)
    await site.close()
    expect(problems).toEqual([])
    expect(site.requests).toHaveLength(3)
  })

  it("are no longer examined once the check is aborted", async () => {
    const page = { page: "texts", html: "<p>", brand: "Acme" } as const
    const aborted = new AbortController()
    aborted.abort()
    await expect(findProblemsInThread(page, aborted.signal)).rejects.toThrow("ended")
    expect(await findProblemsInThread(page, new AbortController().signal)).toContain("wrong_brand")
  })
})

describe("a semaphore", () => {
  it("runs a limited number of tasks concurrently, in order, and skips aborted ones", async () => {
    const semaphore = openSemaphore(2)
    const { notify, until } = newSignal()
    const started: string[] = []
    const ends = new Map<string, () => void>()
    const work = (name: string, signal = new AbortController().signal) =>
      semaphore.run(signal, async () => {
        started.push(name)
        const end = Promise.withResolvers<string>()
        ends.set(name, () => end.resolve(name))
        notify()
        return end.promise
      })
    const leaving = new AbortController()
    const [a, , c, d] = [work("a"), work("b"), work("c", leaving.signal), work("d")]
    const left = expect(c).rejects.toThrow("left")
    leaving.abort(new Error("left"))
    await left
    expect(started).toEqual(["a", "b"])
    ends.get("a")?.()
    expect(await a).toBe("a")
    await until(() => started.length > 2)
    expect(started).toEqual(["a", "b", "d"])
    ends.get("d")?.()
    expect(await d).toBe("d")
    void work("e")
    await until(() => started.length > 3)
    expect(started).toEqual(["a", "b", "d", "e"])
    await expect(work("f", AbortSignal.abort(new Error("late")))).rejects.toThrow("late")
  })
})

const world = await sharedWorld({ rateLimits: "off" })

const check = ({ key }: Company) => world.call(key, "POST", "/api/v1/phone/pages/check")

const passedAt = ({ companyId }: Company) =>
  world.ports.runner.read(
    registrationStreamOf(companyId),
    (state) => registrationDraftOf(state).pagesPassedAt,
  )

describe("hosted pages", () => {
  it("are checked only after the business and the pages are saved", async () => {
    const company = await makeCompany(world)
    const unsaved = await check(company)
    expect([unsaved.status, unsaved.body]).toMatchObject([
      409,
      { error: "conflict", missing: ["business", "pages"] },
    ])
    await postBusiness(world, company)
    expect((await check(company)).body.missing).toEqual(["pages"])
  })

  it("pass only once their domain leads here over HTTPS", async () => {
    const { company, domain, domainId } = await makeLiveDomain(world)
    const hostname = `texts.${domain}`
    await postBusiness(world, company)
    await postPages(world, company, { hostname })
    const before = await check(company)
    expect(before.body).toMatchObject({ passed: false, domainStatus: "not_connected" })
    expect(before.body.problems).toHaveLength(3)
    await postDomain(world, company, { action: "save_app_address", domainId, hostname })
    await world.operate("wait")
    await world.ports.hostnames.refresh()
    const waiting = await check(company)
    expect(waiting.body).toMatchObject({ passed: false, domainStatus: "waiting_certificate" })
    expect(await passedAt(company)).toBeNull()
    const reached = { type: "MarkAppAddressReached", hostname } as const
    const stream = domainStreamOf(company.companyId, domainId as DomainId)
    await world.ports.runner.execute(stream, reached, causedBy("test"))
    await world.operate("wait")
    await world.ports.hostnames.refresh()
    const live = await check(company)
    expect(live.body).toEqual({
      passed: true,
      problems: [],
      domainStatus: "live",
      domainError: null,
    })
    expect(await passedAt(company)).not.toBeNull()
  })

  it("cannot use another company's domain, and do not pass without a host name", async () => {
    const { domain, domainId, company: other } = await makeLiveDomain(world)
    const hostname = `texts.${domain}`
    await postDomain(world, other, { action: "save_app_address", domainId, hostname })
    await world.operate("wait")
    await world.ports.hostnames.refresh()
    const company = await makeCompany(world)
    await postBusiness(world, company)
    const { status, body } = await postPages(world, company, { hostname })
    expect([status, Object.keys(body.fields)]).toEqual([400, ["hostname"]])
    await postPages(world, company)
    expect((await check(company)).body).toMatchObject({
      passed: false,
      domainStatus: "not_connected",
      domainError: expect.stringContaining("no host name") as string,
    })
  })
})

describe("a check", () => {
  it("is discarded if the pages were saved again in the meantime", () => {
    const { decider } = REGISTRATION_AGGREGATE
    const noActor = { keyId: null, personId: null }
    let state = decider.initial()
    const at = 1
    for (const pages of ["s1.co_1.YQ", "s1.co_1.Yg"] as const) {
      const fact = { type: "PagesSaved", at, pages, mode: "hosted", hostname: null } as const
      state = decider.evolve(state, { ...fact, slug: "ab12", ...noActor })
    }
    const result = { type: "RecordPagesCheck", problems: [], read: [] } as const
    const late = decider.decide({ ...result, pages: "s1.co_1.YQ" }, state, { at })
    expect(late).toMatchObject({ code: "changed" })
    const current = decider.decide({ ...result, pages: "s1.co_1.Yg" }, state, { at })
    expect(current).toMatchObject([{ type: "PagesChecked" }])
  })
})
