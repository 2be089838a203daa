/** Publishing through the API: refusals and their order, progress, charges and logs. */
import { symlinkSync } from "node:fs"
import { afterEach, beforeAll, describe, expect, it, vi } from "vitest"
import { PROGRAM } from "../../src/slices.ts"
import { git } from "../code/git.ts"
import { makeCompany, setLimit, spentMicrosOf } from "../support/world.ts"
import type { PublishingCompany } from "./publish-world.ts"
import {
  PUBLISH_MICROS,
  PUBLISHES_PATH,
  commitOnly,
  siteCompanyFile,
  importCommits,
  makePublishingCompany,
  ownPublishWorld,
  requestPublish,
  publishAndWait,
  commitAndImport,
  getPublish,
  setPublishOutcome,
  publishViewOf,
} from "./publish-world.ts"
import { AppStartFailed } from "../../adapters/sandbox/preview-host/port.ts"

const one = await ownPublishWorld()
const { world } = one
afterEach(async () => {
  await setPublishOutcome(world, "ok")
})

const UNKNOWN_COMMIT = "0".repeat(40)

describe("a publish", () => {
  it("is queued and charged, becomes live, and is shown by the API", async () => {
    const company = await makePublishingCompany(one)
    const queued = await requestPublish(world, company, company.first)
    expect(queued).toMatchObject({
      status: 202,
      body: { kind: "preview", commit: company.first, status: "queued", error: null },
    })
    expect(await spentMicrosOf(world, company)).toBe(PUBLISH_MICROS)
    await world.operate("wait")
    const seen = await getPublish(world, company, queued.body.id)
    expect(seen).toMatchObject({ ...queued.body, status: "live", finishedAt: expect.any(String) })
    expect(seen.address).toMatch(/^[a-z\d-]+\.preview\.localhost(:\d+)?$/)
    const { charges } = await world.operate("charge list", { company: company.companyId })
    expect(charges).toMatchObject([
      { item: "deploy", state: "settled", amountMicros: PUBLISH_MICROS },
    ])
  })

  it("replaces the previous one, and is listed first", async () => {
    const company = await makePublishingCompany(one)
    const first = await publishAndWait(world, company, company.first)
    const second = await publishAndWait(
      world,
      company,
      await commitAndImport(world, company, { a: "b" }),
    )
    const { body } = await world.call(company.key, "GET", PUBLISHES_PATH)
    const listed = body.publishes.map(({ id, status }: { id: string; status: string }) => [
      id,
      status,
    ])
    expect(listed).toEqual([
      [second, "live"],
      [first, "replaced"],
    ])
    expect(await spentMicrosOf(world, company)).toBe(2 * PUBLISH_MICROS)
  })

  it("with an Idempotency-Key is made once, even if it is repeated", async () => {
    const company = await makePublishingCompany(one)
    const headers = { "idempotency-key": "once" }
    const answers = await Promise.all(
      Array.from({ length: 4 }, () => requestPublish(world, company, company.first, headers)),
    )
    await world.operate("wait")
    const again = await requestPublish(world, company, company.first, headers)
    const ids = [...answers, again].flatMap(({ status, body }) => (status === 202 ? [body.id] : []))
    expect(new Set(ids).size).toBe(1)
    expect(await spentMicrosOf(world, company)).toBe(PUBLISH_MICROS)
  })

  it("that fails has a reason with the end of its log, and is refunded once", async () => {
    const company = await makePublishingCompany(one)
    await setPublishOutcome(world, "build-fails")
    const id = await publishAndWait(world, company, company.first)
    const seen = await getPublish(world, company, id)
    expect(seen).toMatchObject({ status: "failed" })
    expect(seen.error).toMatch(/\S/)
    expect(await spentMicrosOf(world, company)).toBe(0)
    await setPublishOutcome(world, "ok")
    expect(await log(id)).toMatchObject({ status: "failed", error: seen.error })
    const tried = await world.operate("publish retry", { publishId: id }, "the test")
    // Its job may have begun before the answer, so any status but failed is possible.
    expect(["queued", "building", "live"]).toContain(tried.status)
    await world.operate("wait")
    expect(await getPublish(world, company, id)).toMatchObject({ status: "live", error: null })
    // The charge was refunded, and the retry is free.
    expect(await spentMicrosOf(world, company)).toBe(0)
    const refused = world.operate("publish retry", { publishId: id })
    await expect(refused).rejects.toMatchObject({ code: "not_failed" })
  })

  it("requested twenty times in a minute leaves one live, and each one that was live is charged", async () => {
    const company = await makePublishingCompany(one)
    const commits = [company.first]
    for (let n = 1; n < 5; n += 1) commits.push(commitOnly(company, { n: `${n}` }))
    await importCommits(world, company)
    const requested = Array.from({ length: 20 }, (_, n) => commits[n % commits.length] ?? "")
    // A busy machine may answer 503, which charges nothing.
    const requestUntilAccepted = async (commit: string): ReturnType<typeof requestPublish> => {
      const answer = await requestPublish(world, company, commit)
      return answer.status === 503 ? requestUntilAccepted(commit) : answer
    }
    const answers = await Promise.all(requested.map(requestUntilAccepted))
    expect(answers.map(({ status }) => status)).toEqual(requested.map(() => 202))
    await world.operate("wait")
    const { body } = await world.call(company.key, "GET", PUBLISHES_PATH)
    const statuses = body.publishes.map(({ status }: { status: string }) => status)
    expect(statuses.filter((status: string) => status === "live")).toEqual(["live"])
    expect(statuses[0]).toBe("live")
    const views = await Promise.all(
      answers.map(({ body: { id } }) => publishViewOf(world, company, id)),
    )
    const paid = views.filter((view) => view?.wasLive).length
    expect(await spentMicrosOf(world, company)).toBe(paid * PUBLISH_MICROS)
    expect((await world.operate("audit verify")).ok).toBe(true)
  })
})

describe("a publish is rejected", () => {
  let company: PublishingCompany & { readonly first: string }
  beforeAll(async () => {
    company = await makePublishingCompany(one)
  })

  it("in the specification's order, without a charge or a record", async () => {
    const refusedWith = async (commit: string, status: number, error: string) => {
      const refused = await requestPublish(world, company, commit)
      expect(refused, error).toMatchObject({ status, body: { error } })
      return refused
    }
    const body = { commit: company.first.slice(0, 39), branch: "main" }
    const faulty = await world.call(company.key, "POST", `${PUBLISHES_PATH}/preview`, { body })
    expect(faulty).toMatchObject({ status: 400, body: { error: "validation" } })
    expect(Object.keys(faulty.body.fields).toSorted()).toEqual(["body", "commit"])
    expect(faulty.body.fields.body).toContain("branch")
    await world.operate("publish off", { company: company.companyId })
    await refusedWith(UNKNOWN_COMMIT, 404, "commit_not_found")
    const foreign = await commitAndImport(world, company, {
      "company.json": siteCompanyFile("another company"),
    })
    await refusedWith(foreign, 403, "company_file")
    const off = await refusedWith(company.first, 503, "unavailable")
    expect(off.headers["retry-after"]).toBe("60")
    await world.operate("publish on", { company: company.companyId })
    await setPublishOutcome(world, "off")
    await refusedWith(company.first, 503, "unavailable")
    await setPublishOutcome(world, "ok")
    const limit = { company: company.companyId, class: "general", period: "week" }
    await setLimit(world, company, { period: "week", dollars: "0.2" })
    await refusedWith(company.first, 429, "spend_limit_reached")
    await world.operate("limit remove", limit)
    expect(await spentMicrosOf(world, company)).toBe(0)
    const { body: listed } = await world.call(company.key, "GET", PUBLISHES_PATH)
    expect(listed.publishes).toEqual([])
  })

  it("without a card before anything else is checked, and without enough funds", async () => {
    const route = PROGRAM.routes.find(({ name }) => name === "publishPreview")
    expect(route?.accountRequirement).toBe("card")
    const unfunded = await makePublishingCompany(one, "0.2")
    const refused = await requestPublish(world, unfunded, unfunded.first)
    expect(refused).toMatchObject({ status: 402, body: { error: "payment_required" } })
  })

  it("for a commit that no branch or tag reaches, of another company, or that is not a commit", async () => {
    const other = await makePublishingCompany(one)
    expect(await requestPublish(world, company, other.first)).toMatchObject({ status: 404 })
    const withoutCode = await makeCompany(world)
    const refused = await requestPublish(world, withoutCode, company.first)
    expect(refused).toMatchObject({ status: 404, body: { error: "commit_not_found" } })
    const tree = git(company.copy, "rev-parse", "HEAD^{tree}")
    expect(await requestPublish(world, company, tree)).toMatchObject({ status: 404 })
  })

  describe("with a company file", () => {
    const FILES = {
      "that is missing": null,
      "that is not JSON": "{",
      "that is a list": "[]",
      "that is too large": JSON.stringify({ company: "x", static: "a".repeat(70_000) }),
      "without a name": JSON.stringify({ static: "site" }),
      "of another type": JSON.stringify({ company: 7, static: "site" }),
    }
    const commits = new Map<string, string>()
    beforeAll(async () => {
      for (const [what, content] of Object.entries(FILES)) {
        if (content === null) git(company.copy, "rm", "-qf", "company.json")
        const files = content === null ? {} : { "company.json": content }
        commits.set(what, commitOnly(company, files))
      }
      await importCommits(world, company)
    })

    it.each(Object.keys(FILES))("%s", async (what) => {
      const refused = await requestPublish(world, company, commits.get(what) ?? "")
      expect(refused).toMatchObject({ status: 403, body: { error: "company_file" } })
    })
  })

  it("with a company file with unknown fields, by their names", async () => {
    const file = siteCompanyFile(company.name, { static: "a", cleanUrls: true })
    const commit = await commitAndImport(world, company, { "company.json": file })
    const refused = await requestPublish(world, company, commit)
    expect(refused).toMatchObject({ status: 403, body: { error: "company_file" } })
    expect(refused.body.message).toContain("unknown fields: cleanUrls")
  })

  it("with a company file that is a link, but not with the name in another case", async () => {
    git(company.copy, "rm", "-qf", "company.json")
    symlinkSync("site/index.html", `${company.copy}/company.json`)
    const linked = await commitAndImport(world, company, {})
    expect(await requestPublish(world, company, linked)).toMatchObject({ status: 403 })
    git(company.copy, "rm", "-qf", "company.json")
    const name = ` ${company.name.toUpperCase()} `
    const uppercase = await commitAndImport(world, company, {
      "company.json": siteCompanyFile(name),
    })
    expect(await requestPublish(world, company, uppercase)).toMatchObject({ status: 202 })
    await world.operate("wait")
  })
})

const log = (publishId: string) => world.operate("publish log", { publishId })
const wait = () => world.operate("wait")
const BUILT = "Simulated build: no command was run.\n"

/** The output of the command for an answer. */
function shown(answer: object): string {
  const operation = PROGRAM.operations.find(({ name }) => name === "publish log")
  return operation?.render?.(answer, { isTTY: false, columns: 80 }) ?? ""
}

describe("the log of a publish", () => {
  it("has the output of its start, failed or not, for thirty days", async () => {
    const company = await makePublishingCompany(one)
    const app = siteCompanyFile(company.name, { start: "serve" })
    const commit = await commitAndImport(world, company, { "company.json": app })
    const start = vi.spyOn(world.ports.previewHost, "start")
    start.mockRejectedValueOnce(
      new AppStartFailed("The release exited with code 4.", "no table\u001b[2J\n"),
    )
    const publishId = await publishAndWait(world, company, commit)
    const failed = { status: "failed", build: BUILT, start: "no table\\x1b[2J\n", app: null }
    expect(await log(publishId)).toMatchObject(failed)
    start.mockResolvedValueOnce("migrated\n")
    await world.operate("publish retry", { publishId })
    await wait()
    expect(await log(publishId)).toMatchObject({ status: "live", start: "migrated\n" })
    await world.operate("clock advance", { duration: "31d" })
    await wait()
    expect(await log(publishId)).toMatchObject({ build: null, start: null })
    start.mockRestore()
  })

  it("has no output of a start without a release", async () => {
    const company = await makePublishingCompany(one)
    expect(await log(await publishAndWait(world, company, company.first))).toMatchObject({
      start: null,
    })
  })

  const answer = { publishId: "pub_1", error: null, build: null, start: null, app: null }
  it.each([
    ["queued", "The build is queued."],
    ["building", "The build is running. Its log is available when it ends, within 10 minutes."],
    ["replaced", "Its build log no longer exists."],
  ])("of a publish that is %s shows why there is none", (status, words) => {
    expect(shown({ ...answer, status })).toBe(`pub_1 ${status}\n${words}\n`)
  })

  it("shows its parts in order, and names empty ones", () => {
    const app = { status: "running", log: "listening\n" }
    expect(shown({ ...answer, status: "live", build: "\n", start: "migrated\n", app })).toBe(
      "pub_1 live\nThe build log is empty.\n\nLog of the start:\nmigrated\n\nLog of the app (running):\nlistening\n",
    )
  })

  it("does not show the output of a failed app twice", () => {
    const app = { status: "down", log: "no module\n" }
    const failed = { ...answer, status: "failed", error: "The app ended.\nno module", app }
    expect(shown({ ...failed, build: "", start: "no module\n" })).toBe(
      "pub_1 failed\nThe app ended.\nThe build log is empty.\n\nLog of the start:\nno module\n",
    )
  })
})
