/** Installed apps: check-ins, updates and device reports. */
import { randomUUID } from "node:crypto"
import { beforeEach, describe, expect, it } from "vitest"
import type { Company } from "../support/world.ts"
import { makeCompany, ownWorld } from "../support/world.ts"

const CHECKIN = "/api/v1/checkin"
const UPDATES = "/api/v1/updates"
const DEVICES = "/api/v1/device-updates"
const INSTALL = "ab".repeat(28)
const TREE = "4b825dc642cb6eb9a060e54bf8d69288fbee4904"

const world = await ownWorld("time")
let company: Company
for (const [version, channel, required] of [
  ["2.0.0", "stable", false],
  ["2.10.0", "stable", true],
  ["2.2.0", "stable", false],
  ["3.0.0-rc.1", "beta", false],
] as const) {
  await world.operate("release publish", { version, channel, notes: `${version}!`, required })
}
await world.operate("release seal", { version: "2.0.0", tree: TREE })
beforeEach(async () => {
  company = await makeCompany(world)
})

const checkIn = (body: object) => world.call(company.key, "POST", CHECKIN, { body })
const updates = (version: string) =>
  world.call(company.key, "GET", `${UPDATES}?version=${encodeURIComponent(version)}`)
const apps = () => world.operate("app list", { company: company.companyId })

const report = (changed: object = {}) => ({
  installId: INSTALL,
  eventId: randomUUID(),
  attemptId: randomUUID(),
  sequence: 1,
  kind: "app",
  version: "2.2.0",
  status: "started",
  ...changed,
})
const send = (body: object | string) => world.call(company.key, "POST", DEVICES, { body })

describe("POST /checkin 200", () => {
  it("assigns an id to a new app, and keeps it", async () => {
    const first = await checkIn({ installId: null, version: "2.0.0" })
    expect(first).toMatchObject({
      status: 200,
      body: {
        installId: expect.stringMatching(/^[0-9a-f]{56}$/),
        companyId: company.companyId,
        latest: "2.10.0",
        channel: "stable",
        seal: "unknown",
      },
    })
    const { installId } = first.body
    const again = await checkIn({ installId: installId.toUpperCase(), version: "2.0.0" })
    expect(again.body.installId).toBe(installId)
  })

  it("shows whether the protected core is the official one", async () => {
    const seal = async (version: string, coreHash?: string | null) =>
      (await checkIn({ installId: INSTALL, version, seal: coreHash })).body.seal
    expect(await seal("2.0.0", TREE)).toBe("matches")
    expect(await seal("2.0.0", "f".repeat(40))).toBe("changed")
    expect(await seal("2.0.0", null)).toBe("unknown")
    expect(await seal("2.2.0", TREE)).toBe("unknown")
    expect(await seal("0.0.0-dev", TREE)).toBe("unknown")
  })

  it("keeps the last check-in of each UTC day, and records an unchanged one once", async () => {
    const body = { installId: INSTALL, version: "2.0.0", platform: "linux", counts: { deals: 3 } }
    await checkIn(body)
    await checkIn(body)
    await checkIn({ ...body, counts: { deals: 4, people: 0 } })
    await world.operate("clock advance", { duration: "1d" })
    await checkIn({ ...body, version: "2.2.0", counts: {} })
    const stream = `app-${company.companyId}-${INSTALL}`
    const { events } = await world.operate("audit show", { stream })
    expect(events).toMatchObject([
      { type: "AppCheckedIn", data: { counts: { deals: 3 } } },
      { data: { counts: { deals: 4, people: 0 } } },
      { data: { version: "2.2.0", counts: {} } },
    ])
    expect((await apps()).apps).toMatchObject([
      { installId: INSTALL, version: "2.2.0", platform: "linux", counts: { deals: null } },
    ])
    const rows = await world.ports.readAll
      .selectFrom("check_ins")
      .select(["version", "counts"])
      .where("company_id", "=", company.companyId)
      .orderBy("day")
      .execute()
    expect(rows).toMatchObject([
      { version: "2.0.0", counts: { deals: 4, people: 0, projects: null } },
      { version: "2.2.0" },
    ])
  })

  it("is separate for each company, even with the same install id", async () => {
    await checkIn({ installId: INSTALL, version: "2.0.0" })
    const other = await makeCompany(world)
    const body = { installId: INSTALL, version: "2.2.0" }
    const answer = await world.call(other.key, "POST", CHECKIN, { body })
    expect(answer.body).toMatchObject({ installId: INSTALL, companyId: other.companyId })
    expect((await apps()).apps).toMatchObject([{ version: "2.0.0" }])
  })
})

describe("POST /checkin 400", () => {
  it.each([
    [{ version: "2.0.0" }, "installId"],
    [{ installId: "ab", version: "2.0.0" }, "installId"],
    [{ installId: null }, "version"],
    [{ installId: null, version: "a version" }, "version"],
    [{ installId: null, version: "2.0.0", platform: "ä" }, "platform"],
    [{ installId: null, version: "2.0.0", platform: "x".repeat(101) }, "platform"],
    [{ installId: null, version: "2.0.0", platform: "linux/x64" }, "platform"],
    [{ installId: null, version: "2.0.0", seal: "a2V5=" }, "seal"],
    [{ installId: null, version: "2.0.0", seal: 5 }, "seal"],
    [{ installId: null, version: "2.0.0", counts: { deals: -1 } }, "counts.deals"],
    [{ installId: null, version: "2.0.0", counts: { deals: 1.5 } }, "counts.deals"],
    [{ installId: null, version: "2.0.0", counts: [] }, "counts"],
  ])("names the invalid field of %j", async (body, field) => {
    const { status, body: answer } = await checkIn(body)
    expect([status, answer.error, Object.keys(answer.fields)]).toEqual([400, "validation", [field]])
  })
})

describe("GET /updates", () => {
  const named = async (version: string) =>
    (await updates(version)).body.updates.map((one: { version: string }) => one.version)

  it("lists newer versions in the company's channel, oldest first", async () => {
    const { status, body } = await updates("1.9.9")
    expect(status).toBe(200)
    expect(body).toEqual({
      updates: [
        { version: "2.0.0", from: null, required: false },
        { version: "2.2.0", from: "2.0.0", required: false },
        { version: "2.10.0", from: "2.2.0", required: true },
      ].map((one) => ({
        ...one,
        notes: `${one.version}!`,
        publishedAt: expect.stringMatching(/Z$/) as string,
      })),
      codeBranch: null,
    })
    expect(await named("2.2.0")).toEqual(["2.10.0"])
    expect(await named("2.2.0-rc.1")).toEqual(["2.2.0", "2.10.0"])
    expect(await named("9.0.0")).toEqual([])
  })

  it("follows the company to another channel", async () => {
    await world.operate("company change", { company: company.companyId, channel: "beta" })
    expect(await named("2.0.0")).toEqual(["3.0.0-rc.1"])
  })

  it.for([
    "1",
    "1.0",
    "v1.0.0",
    "01.0.0",
    "1.0.0-",
    "two",
    "",
    "1.0.0 ",
    `1.0.${"0".repeat(60)}1`,
    "1.0.0",
    "0.0.0-rc.1",
    "1.0.0+build.5",
  ])("accepts or rejects the version %j like a check-in and a device report", async (version) => {
    const results = [
      await updates(version),
      await checkIn({ installId: null, version }),
      await send(report({ version })),
    ].map(({ status, body }) => (status < 300 ? "accepted" : body.fields.version))
    expect(new Set(results).size).toBe(1)
    const isVersion = /^\d\.\d\.\d([-+]\w|$)/.test(version)
    expect(results[0]).toBe(
      isVersion ? "accepted" : "Must be a version such as 2.1.0 or 2.1.0-rc.1.",
    )
  })

  it("requires a valid version", async () => {
    for (const url of [UPDATES, `${UPDATES}?version=`, `${UPDATES}?version=two`]) {
      const { status, body } = await world.call(company.key, "GET", url)
      expect([status, Object.keys(body.fields)]).toEqual([400, ["version"]])
    }
  })
})

describe("POST /device-updates 200", () => {
  it("accepts a report once, and recognizes it again", async () => {
    const body = report()
    expect(await send(body)).toMatchObject({ status: 200, body: { ok: true, replayed: false } })
    expect((await send(body)).body).toEqual({ ok: true, replayed: true })
    const upper = { ...body, eventId: body.eventId.toUpperCase() }
    expect((await send(upper)).body).toEqual({ ok: true, replayed: true })
  })

  it("shows the latest report by sequence, in any order of arrival", async () => {
    await send(report({ sequence: 2, status: "started" }))
    await send(report({ sequence: 4, status: "failed", reason: "install_failed" }))
    await send(report({ sequence: 3, status: "deferred", reason: "user_deferred" }))
    await send(report({ sequence: 1, kind: "launcher", status: "available" }))
    expect((await apps()).updates).toMatchObject([
      { kind: "app", sequence: 4, status: "failed", reason: "install_failed" },
      { kind: "launcher", sequence: 1, status: "available", reason: null },
    ])
    const stream = `app-${company.companyId}-${INSTALL}`
    expect((await world.operate("audit show", { stream })).events).toHaveLength(4)
  })
})

describe("POST /device-updates rejects", () => {
  it("another report with the same event id, with 409", async () => {
    const body = report()
    await send(body)
    const { status, body: answer } = await send({ ...body, sequence: 2 })
    expect([status, answer.error]).toEqual([409, "conflict"])
  })

  it.each([
    [{ note: "hello" }, "body"],
    [{ eventId: "event-1" }, "eventId"],
    [{ sequence: 0 }, "sequence"],
    [{ sequence: 1.5 }, "sequence"],
    [{ kind: "server" }, "kind"],
    [{ status: "done" }, "status"],
    [{ reason: "bored" }, "reason"],
    [{ installId: null }, "installId"],
  ])("%j, with 400", async (changed, field) => {
    const { status, body } = await send(report(changed))
    expect([status, body.error, Object.keys(body.fields)]).toEqual([400, "validation", [field]])
  })

  it("a body of more than 4,096 bytes, and accepts one of exactly 4,096", async () => {
    const text = JSON.stringify(report())
    const padded = (bytes: number) => text.padEnd(bytes, " ")
    const headers = { "content-type": "application/json" }
    const sized = (bytes: number) =>
      world.call(company.key, "POST", DEVICES, { body: padded(bytes), headers })
    expect((await sized(4_096)).status).toBe(200)
    const { status, body } = await sized(4_097)
    expect([status, body.error]).toEqual([413, "too_large"])
  })
})

it("check-ins, updates and device reports are not counted", async () => {
  await checkIn({ installId: null, version: "2.0.0" })
  await updates("2.0.0")
  await send(report())
  const { counts } = await world.operate("calls list", { company: company.companyId })
  expect(counts).toEqual([])
})

describe("release publish", () => {
  it("accepts the same release again, and rejects another one with its version", async () => {
    const release = { version: "2.0.0", channel: "stable", notes: "2.0.0!", required: false }
    expect(await world.operate("release publish", release)).toEqual(release)
    await expect(world.operate("release publish", { ...release, notes: "Other." })).rejects.toThrow(
      /with other details/,
    )
    await expect(world.operate("release publish", { ...release, version: "two" })).rejects.toThrow(
      /Write the version like 2.1.0/,
    )
  })
})
