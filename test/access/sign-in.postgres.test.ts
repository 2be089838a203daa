/** The app key, with and without a person's sign-in. */
import { beforeEach, describe, expect, it } from "vitest"
import { GSM_SEGMENT_MICROS, MESSAGES_PATH, newPhoneNumber } from "../phone/text-requests.ts"
import type { Company } from "../support/world.ts"
import { addPerson, makeCompany, makeKey, openWorld, ownWorld, setLimit } from "../support/world.ts"
import { callWithAppKey, signInHeaders } from "./sign-in-headers.ts"
import type { PersonId } from "../../domain/kernel/ids.ts"
import type { TestKey } from "../support/company.ts"

const PEOPLE = "/api/v1/people"
const NOW = "2031-05-06T12:00:00.000Z"

const world = await ownWorld("time")
let company: Company
let shared: TestKey
let personId: PersonId
await world.operate("clock set", { to: NOW })
beforeEach(async () => {
  company = await makeCompany(world)
  shared = await makeKey(world, company, { app: true })
  personId = (await addPerson(world, company)).personId
})

const textBody = () => JSON.stringify({ to: newPhoneNumber(), body: "Hello" })
const sendAs = (id: PersonId, changed: Record<string, string> = {}) =>
  callWithAppKey(
    world,
    shared,
    { method: "POST", url: MESSAGES_PATH, body: textBody(), personId: id },
    changed,
  )
const readAs = (id: PersonId, changed: Record<string, string> = {}, time?: string) =>
  callWithAppKey(
    world,
    shared,
    { method: "GET", url: PEOPLE, personId: id, ...(time === undefined ? {} : { time }) },
    changed,
  )

async function limitPerson(dollars: string): Promise<void> {
  await setLimit(world, company, { person: personId, dollars })
}

describe("a signed call", () => {
  it("has the person's permissions, and shows what they may see", async () => {
    const { status, body } = await readAs(personId)
    expect(status).toBe(200)
    expect(body.people).toHaveLength(2)
    expect(body.people.find(({ self }: { self: boolean }) => self)).toMatchObject({ id: personId })
  })

  it("counts against the person, the key and the company, which the fact names", async () => {
    await limitPerson("5")
    expect((await sendAs(personId)).status).toBe(200)
    const { limits } = await world.operate("limit list", { company: company.companyId })
    expect(limits).toMatchObject([{ holder: "person", holderId: personId }])
    // The text and the API call.
    expect(limits[0].usedMicros).toBe(GSM_SEGMENT_MICROS + 100)
    const stream = `ledger-${company.companyId}`
    const { events } = await world.operate("audit show", { stream, type: "Charged" })
    expect(events).toMatchObject([{ data: { via: "app_key", keyId: shared.keyId, personId } }])
    const { counts } = await world.operate("calls list", { company: company.companyId })
    expect(counts).toMatchObject([{ keyId: shared.keyId, personId, calls: 1 }])
  })

  it("counts against a limit that leaves the person's own keys out", async () => {
    await setLimit(world, company, { person: personId, dollars: "5", leaveKeysOut: true })
    await sendAs(personId)
    const { limits } = await world.operate("limit list", { company: company.companyId })
    expect(limits[0].usedMicros).toBe(GSM_SEGMENT_MICROS + 100)
  })

  it("is rejected if the person lacks the permission", async () => {
    await world.operate("person app", { personId, deny: ["phone.messages.send"] })
    expect(await sendAs(personId)).toMatchObject({ status: 403, body: { error: "not_allowed" } })
    await world.operate("person app", { personId, clear: ["phone.messages.send"] })
    expect((await sendAs(personId)).status).toBe(200)
    await world.operate("person change", { personId, role: "user" })
    expect((await sendAs(personId)).status).toBe(403)
  })

  it("is rejected if the person's limit is used up, by a charge or before it", async () => {
    await limitPerson("0.005")
    expect(await sendAs(personId)).toMatchObject({
      status: 429,
      body: { error: "spend_limit_reached", limit: { holder: "person", remainingMicros: 4_900 } },
    })
    await limitPerson("0")
    expect(await sendAs(personId)).toMatchObject({
      status: 429,
      body: { error: "spend_limit_reached", limit: { holder: "person", remainingMicros: 0 } },
    })
    // Other people, and the app without a sign-in, are not affected.
    expect((await sendAs(company.ownerId)).status).toBe(200)
    const options = { body: { to: newPhoneNumber(), body: "Hello" } }
    expect((await world.call(shared.key, "POST", MESSAGES_PATH, options)).status).toBe(200)
  })

  it("accepts an Idempotency-Key, and is replayed", async () => {
    const body = textBody()
    const request = { method: "POST", url: MESSAGES_PATH, body, personId } as const
    const first = await callWithAppKey(world, shared, request, { "idempotency-key": "one" })
    const again = await callWithAppKey(world, shared, request, { "idempotency-key": "one" })
    expect(first.status).toBe(200)
    expect(again.headers["idempotency-replayed"]).toBe("true")
    expect(again.body).toEqual(first.body)
  })

  it("is counted even if its body is malformed", async () => {
    const request = { method: "POST", url: MESSAGES_PATH, body: '{"to":', personId } as const
    expect((await callWithAppKey(world, shared, request)).status).toBe(400)
    const { counts } = await world.operate("calls list", { company: company.companyId })
    expect(counts).toMatchObject([{ personId, calls: 1 }])
  })

  it("signs the path with its query", async () => {
    const url = "/api/v1/phone/messages?since=2031-01-01T00%3A00%3A00.000Z"
    const signed = { method: "GET", url, personId } as const
    expect((await callWithAppKey(world, shared, signed)).status).toBe(200)
    const headers = signInHeaders(shared.appSecret, { ...signed, time: NOW })
    expect((await world.call(shared.key, "GET", MESSAGES_PATH, { headers })).status).toBe(401)
  })
})

describe("the time of a sign-in", () => {
  const at = (ms: number) => new Date(Date.parse(NOW) + ms).toISOString()

  it.each([-60_000, -1, 0, 60_000])("is valid %i ms from now", async (ms) => {
    expect((await readAs(personId, {}, at(ms))).status).toBe(200)
  })

  it.each([-60_001, 60_001, -86_400_000])("is invalid %i ms from now", async (ms) => {
    const { status, body } = await readAs(personId, {}, at(ms))
    expect([status, body.error]).toEqual([401, "invalid_key"])
    expect(body.message).toContain("more than 60 seconds")
  })

  it("may be written with another offset", async () => {
    expect((await readAs(personId, {}, "2031-05-06T14:00:30+02:00")).status).toBe(200)
    expect((await readAs(personId, {}, "2031-05-06t12:00:30z")).status).toBe(200)
  })

  it.each(["", "now", "1936008000", "2031-05-06", "Tue, 06 May 2031 12:00:00 GMT"])(
    "cannot be %j",
    async (time) => {
      const { status, body } = await readAs(personId, {}, time)
      expect([status, body.error]).toEqual([401, "invalid_key"])
    },
  )
})

describe("a 401 answer", () => {
  const faults: readonly (readonly [string, (headers: Record<string, string>) => object])[] = [
    ["another person", () => ({ "x-person-id": company.ownerId })],
    ["another time", () => ({ "x-person-time": "2031-05-06T12:00:00.001Z" })],
    ["an empty signature", () => ({ "x-person-signature": "" })],
    [
      "a changed signature",
      ({ "x-person-signature": signature = "" }) => ({
        "x-person-signature": signature.replace(/^./, (digit) => (digit === "0" ? "1" : "0")),
      }),
    ],
    [
      "a shortened signature",
      ({ "x-person-signature": signature = "" }) => ({
        "x-person-signature": signature.slice(0, 62),
      }),
    ],
    [
      "a signature in base64",
      ({ "x-person-signature": signature = "" }) => ({
        "x-person-signature": Buffer.from(signature, "hex").toString("base64"),
      }),
    ],
  ]

  it.each(faults)("rejects %s", async (_what, change) => {
    const request = { method: "GET", url: PEOPLE, personId, time: NOW } as const
    const headers = signInHeaders(shared.appSecret, request)
    const changed = { headers: { ...headers, ...change(headers) } }
    const { status, body } = await world.call(shared.key, "GET", PEOPLE, changed)
    expect([status, body.error]).toEqual([401, "invalid_key"])
    expect(Object.keys(body)).toEqual(["error", "message"])
  })

  it("rejects another body, method, path or secret", async () => {
    const time = NOW
    const body = textBody()
    const post = { method: "POST", url: MESSAGES_PATH, body, personId, time } as const
    const wrong = [
      { ...post, body: textBody() },
      { ...post, body: "" },
      { ...post, method: "PUT" as const },
      { ...post, url: PEOPLE },
    ].map((request) => signInHeaders(shared.appSecret, request))
    const other = await makeKey(world, company, { app: true })
    for (const headers of [...wrong, signInHeaders(other.appSecret, post)]) {
      const options = { body, headers: { ...headers, "content-type": "application/json" } }
      const answer = await world.call(shared.key, "POST", MESSAGES_PATH, options)
      expect([answer.status, answer.body.error]).toEqual([401, "invalid_key"])
    }
    // None of them was counted.
    const { counts } = await world.operate("calls list", { company: company.companyId })
    expect(counts).toEqual([])
  })

  it.each(["x-person-id", "x-person-time", "x-person-signature"])(
    "rejects a sign-in without %s",
    async (name) => {
      const request = { method: "GET", url: PEOPLE, personId, time: NOW } as const
      const { [name]: _left, ...headers } = signInHeaders(shared.appSecret, request)
      const { status, body } = await world.call(shared.key, "GET", PEOPLE, { headers })
      expect([status, body.message]).toEqual([
        401,
        "A sign-in takes X-Person-Id, X-Person-Time and X-Person-Signature together.",
      ])
    },
  )

  it("rejects an unknown person, a person of another company, and a removed one", async () => {
    const other = await makeCompany(world)
    for (const id of ["per_unknown", other.ownerId] as const) {
      const { status, body } = await readAs(id)
      expect([status, body.message]).toEqual([401, "X-Person-Id names no person of this company."])
    }
    await world.operate("person remove", { personId })
    expect((await readAs(personId)).status).toBe(401)
  })

  it("rejects a sign-in with a person's own key", async () => {
    const secret = world.ports.sealing.appSecret(company.keyId)
    const headers = signInHeaders(secret, { method: "GET", url: PEOPLE, personId, time: NOW })
    const { status, body } = await world.call(company.key, "GET", PEOPLE, { headers })
    expect([status, body.error]).toEqual([401, "invalid_key"])
    expect(body.message).toContain("belongs to a person")
  })

  it("reports a paused key before the signature", async () => {
    await world.operate("key pause", { keyId: shared.keyId })
    const { status, body } = await readAs(personId)
    expect([status, body.message]).toEqual([
      401,
      "This API key is paused. An owner or admin of the company can resume it.",
    ])
  })
})

describe("a call without a sign-in", () => {
  it("counts only against key and company, and needs no person's permission", async () => {
    await limitPerson("0")
    const options = { body: { to: newPhoneNumber(), body: "Hello" } }
    expect((await world.call(shared.key, "POST", MESSAGES_PATH, options)).status).toBe(200)
    const { counts } = await world.operate("calls list", { company: company.companyId })
    expect(counts).toMatchObject([{ keyId: shared.keyId, personId: null, calls: 1 }])
    const { body } = await world.call(shared.key, "GET", PEOPLE)
    expect(body.people).toEqual([])
  })
})

describe("in another process", () => {
  it("an added person can sign in immediately, and a removed person cannot", async () => {
    const other = await openWorld("start", { url: world.databaseUrl })
    expect((await readAs(personId)).status).toBe(200)
    const added = await addPerson(other, company, { role: "user" })
    // Without waiting: a person who is not in memory is looked up in the store.
    expect((await readAs(added.personId)).status).toBe(200)
    await other.operate("person app", { personId, deny: ["team.people.read"] })
    await world.operate("wait")
    expect((await readAs(personId)).status).toBe(403)
    await other.operate("person remove", { personId })
    await world.operate("wait")
    expect((await readAs(personId)).status).toBe(401)
    await other.close()
  })

  it("the secret is the same", async () => {
    const other = await openWorld("start", { url: world.databaseUrl })
    const request = { method: "GET", url: PEOPLE, personId } as const
    expect((await callWithAppKey(other, shared, request)).status).toBe(200)
    await other.close()
  })

  it("the person's limit applies", async () => {
    const other = await openWorld("start", { url: world.databaseUrl })
    const request = { method: "POST", url: MESSAGES_PATH, personId } as const
    await limitPerson("0.0182")
    expect((await callWithAppKey(other, shared, { ...request, body: textBody() })).status).toBe(200)
    expect((await sendAs(personId)).status).toBe(200)
    const refused = await callWithAppKey(other, shared, { ...request, body: textBody() })
    expect([refused.status, refused.body.limit?.holder]).toEqual([429, "person"])
    await other.close()
  })
})
