/** A company's preview: publishing, signing in, replacing, sleeping, deleting and restoring. */
import { describe, expect, it } from "vitest"
import { renewPreviewLeases } from "../../src/publishing/preview-leases.ts"
import type { LastActivity } from "../../src/publishing/preview-leases.ts"
import { newVisitor } from "../boxes/preview-world.ts"
import { cookieSetBy, formRequestAt } from "./host-route/preview-site-world.ts"
import type { PublishingCompany } from "./publish-world.ts"
import {
  siteCompanyFile,
  makePublishingCompany,
  ownPublishWorld,
  publishAndWait,
  commitAndImport,
} from "./publish-world.ts"

const one = await ownPublishWorld()
const { world } = one
const { visit } = newVisitor(Number(new URL(one.server).port))

async function hostOf({ companyId }: PublishingCompany): Promise<string> {
  const { url } = await world.operate("preview show", { company: companyId })
  return new URL(url).host
}

/** Signs the company's owner in with the mailed code; returns the cookie. */
async function signIn(company: PublishingCompany, host: string): Promise<string> {
  const form = formRequestAt(host)
  const before = new Set((await mailsOf(company)).map(({ subject }) => subject))
  const requested = await visit(host, form("/.preview/code", { email: "owner@example.com" }))
  expect(requested.status).toBe(303)
  const isNew = ({ subject }: { readonly subject: string }) => !before.has(subject)
  let mail = (await mailsOf(company)).find(isNew)
  while (mail === undefined) mail = (await mailsOf(company)).find(isNew)
  const code = mail.subject.slice(0, 6)
  return cookieSetBy(await visit(host, form("/.preview/enter", { code }, cookieSetBy(requested))))
}

async function mailsOf({
  companyId,
}: PublishingCompany): Promise<readonly { readonly subject: string }[]> {
  return (await world.operate("mail list", { company: companyId })).mails
}

describe("a company's preview", () => {
  it("shows the last publish to signed-in people, and nothing of the API", async () => {
    const company = await makePublishingCompany(one)
    const host = await hostOf(company)
    await publishAndWait(world, company, company.first)
    expect(await visit(host, { headers: { accept: "text/html" } })).toMatchObject({ status: 401 })
    const headers = { cookie: await signIn(company, host) }
    const see = (path: string) => visit(host, { path, headers })
    expect(await see("/")).toMatchObject({ status: 200, body: "<h1>Hello</h1>\n" })
    const second = await commitAndImport(world, company, { "site/index.html": "<h1>Again</h1>\n" })
    await publishAndWait(world, company, second)
    expect((await see("/")).body).toBe("<h1>Again</h1>\n")
    const api = await visit(host, {
      path: "/api/v1/publish",
      headers: { authorization: company.key },
    })
    expect(api.status).toBe(401)
    expect(api.body).toBe("")
    expect((await see("/api/v1/publish")).status).toBe(404)
  })

  it("is closed to people who are signed in at another company's preview", async () => {
    const [company, other] = [await makePublishingCompany(one), await makePublishingCompany(one)]
    await publishAndWait(world, other, other.first)
    const cookie = await signIn(company, await hostOf(company))
    const seen = await visit(await hostOf(other), { headers: { cookie } })
    expect(seen.status).toBe(401)
  })

  it("of an app sleeps after 15 minutes, wakes up, and ends with its company", async () => {
    const company = await makePublishingCompany(one)
    const { companyId } = company
    const host = await hostOf(company)
    const app = await commitAndImport(world, company, {
      "company.json": siteCompanyFile(company.name, { start: "serve" }),
    })
    const publishId = await publishAndWait(world, company, app)
    const headers = { cookie: await signIn(company, host) }
    const see = async () => (await visit(host, { headers })).status
    const runningApps = async () => {
      const { apps } = await world.operate("preview show", { company: companyId })
      return apps
    }
    expect(await see()).toBe(200)
    expect(await runningApps()).toEqual([{ publishId, status: "running" }])
    const seen: LastActivity = new Map()
    await renewPreviewLeases(world.ports, seen)
    for (let minute = 0; minute < 14; minute += 1) {
      await world.operate("clock advance", { duration: "1m" })
      await renewPreviewLeases(world.ports, seen)
    }
    expect(await runningApps()).toHaveLength(1)
    await see()
    await renewPreviewLeases(world.ports, seen)
    await world.operate("clock advance", { duration: "2m" })
    await renewPreviewLeases(world.ports, seen)
    expect(await runningApps()).toHaveLength(1)
    for (let minute = 0; minute < 14; minute += 1) {
      await world.operate("clock advance", { duration: "1m" })
      await renewPreviewLeases(world.ports, seen)
    }
    expect(await runningApps()).toBeNull()
    expect(await see()).toBe(200)
    expect(await runningApps()).toHaveLength(1)
    await world.operate("company delete", { company: companyId })
    await renewPreviewLeases(world.ports, seen)
    expect(await runningApps()).toBeNull()
    expect([404, 401]).toContain(await see())
    await world.operate("company restore", { company: companyId })
    const again = { cookie: await signIn(company, host) }
    expect((await visit(host, { headers: again })).status).toBe(200)
  })

  it("is reset by an operator, and erased with its company after fourteen days", async () => {
    const company = await makePublishingCompany(one)
    const { companyId } = company
    const app = siteCompanyFile(company.name, { start: "serve" })
    await publishAndWait(
      world,
      company,
      await commitAndImport(world, company, { "company.json": app }),
    )
    const shown = () => world.operate("preview show", { company: companyId })
    expect((await shown()).bytes).toBeGreaterThan(0)
    expect(await world.operate("preview reset", { company: companyId })).toEqual({
      companyId,
      bytes: null,
    })
    const host = await hostOf(company)
    const headers = { cookie: await signIn(company, host) }
    expect((await visit(host, { headers })).status).toBe(200)
    expect((await shown()).bytes).toBeGreaterThan(0)
    await world.operate("company delete", { company: companyId })
    await world.operate("clock advance", { duration: "15d" })
    await world.operate("wait")
    expect(await world.ports.previewHost.measureBytes(companyId)).toBeNull()
    expect((await world.operate("audit verify")).ok).toBe(true)
  })

  it("keeps the artifacts of the last two publishes, and build logs for thirty days", async () => {
    const company = await makePublishingCompany(one)
    const { companyId } = company
    const ids = [await publishAndWait(world, company, company.first)]
    for (const n of ["1", "2"])
      ids.push(await publishAndWait(world, company, await commitAndImport(world, company, { n })))
    const storedArtifacts = async () => {
      const found = await Promise.all(
        ids.map((id) => world.ports.blobs.find(companyId, `${id}-content`)),
      )
      return found.map((blob) => blob !== null)
    }
    const logs = async () =>
      (await Promise.all(ids.map((publishId) => world.operate("publish log", { publishId })))).map(
        ({ build }) => build !== null,
      )
    expect([await storedArtifacts(), await logs()]).toEqual([
      ids.map(() => true),
      ids.map(() => true),
    ])
    await world.operate("clock advance", { duration: "2d" })
    expect([await storedArtifacts(), await logs()]).toEqual([
      [false, true, true],
      ids.map(() => true),
    ])
    await world.operate("clock advance", { duration: "29d" })
    expect(await logs()).toEqual(ids.map(() => false))
  })
})
