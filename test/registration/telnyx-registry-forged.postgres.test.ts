/** Nobody but Telnyx tells of registrations, it tells nothing twice, and nothing of it is believed unasked. */
import { randomUUID } from "node:crypto"
import { afterAll, beforeEach, describe, expect, it, vi } from "vitest"
import { Unavailable } from "../../adapters/eventstore/port.ts"
import { openTelnyxInstallation } from "../phone/telnyx-installation.ts"
import { newBusinessSubmission, newNumberRegistration } from "../support/registrations.ts"
import { signingAccount } from "../support/telnyx-signing.ts"
import { makeCompany } from "../support/world.ts"

const by = await openTelnyxInstallation()
afterAll(() => by.close())
const paths = await makePaths()
beforeEach(() => {
  by.server.requests.length = 0
})

/** Where Telnyx calls back about a business, about another company's, and about toll-free numbers. */
async function makePaths() {
  const { registry } = by.world.ports
  const { brands, verifications } = by.server.registry
  const pathOf = (url: unknown) => new URL(String(url)).pathname
  const told: string[] = []
  for (const { companyId } of [await makeCompany(by.world), await makeCompany(by.world)]) {
    await registry.submit(
      newBusinessSubmission({ companyId, submissionId: `reg_${randomUUID().slice(0, 8)}` }),
    )
    told.push(pathOf(brands.at(-1)?.["webhookURL"]))
    await registry.registerNumber(newNumberRegistration("c1", { companyId, kind: "toll_free" }))
  }
  const [ours = "", theirs = ""] = told
  return { ours, theirs, tollFree: pathOf(verifications.at(-1)?.["webhookUrl"]) }
}

const now = () => by.world.ports.clock.now()

/** An event as Telnyx tells it. */
function eventFor(path: string, type = "10dlc.brand.update", id: string = randomUUID()): string {
  return JSON.stringify({
    data: {
      record_type: "event",
      event_type: type,
      id,
      occurred_at: "2026-11-25T17:00:00Z",
      payload: { brandId: "b1", type: "TCR_BRAND_UPDATE", status: "success" },
    },
    meta: { attempt: 1, delivered_to: `http://ledger.test${path}` },
  })
}

const tell = (path: string, raw: string) => by.post(path, raw, by.account.headersOf(raw, now()))
const TAKEN = { status: 200, body: { taken: 1, known: 0 } }
const NOTHING = { status: 200, body: { taken: 0, known: 0 } }

describe("news of a registration", () => {
  it.each(["10dlc.brand.update", "10dlc.campaign.update", "10dlc.phone_number.update"])(
    "are taken once of %s, and whatever it says is asked about",
    async (type) => {
      const raw = eventFor(paths.ours, type)
      expect(await tell(paths.ours, raw)).toEqual(TAKEN)
      expect(await tell(paths.ours, raw)).toEqual({ status: 200, body: { taken: 0, known: 1 } })
      expect(by.server.requests.filter(({ call }) => !call.startsWith("GET "))).toEqual([])
    },
  )

  it.each([
    ["an event without its envelope", (raw: string) => JSON.parse(raw).data],
    ["the payload of a brand alone", (raw: string) => JSON.parse(raw).data.payload],
    ["the payload of a campaign alone", () => ({ campaignId: "c1", status: "ACCEPTED" })],
    ["the payload of a number alone", () => ({ phoneNumber: "+14155551200", campaignId: "c1" })],
  ])("are taken once as %s", async (_form, formOf) => {
    const raw = JSON.stringify(formOf(eventFor(paths.ours)))
    const headers = by.account.headersOf(raw, now())
    expect(await by.post(paths.ours, raw, headers)).toEqual(TAKEN)
    expect((await by.post(paths.ours, raw, headers)).body).toEqual({ taken: 0, known: 1 })
    expect(by.server.requests.filter(({ call }) => !call.startsWith("GET "))).toEqual([])
  })

  it("are taken once, however often they are told at once", async () => {
    const raw = eventFor(paths.ours)
    const told = await Promise.all(Array.from({ length: 50 }, () => tell(paths.ours, raw)))
    // Whoever is told of them while they are taken in says so, and they are told again.
    expect(told.every(({ status }) => status === 200 || status === 503)).toBe(true)
    expect(told.filter(({ body }) => body["taken"] === 1)).toHaveLength(1)
    expect((await tell(paths.ours, raw)).body).toEqual({ taken: 0, known: 1 })
  })

  it("are not taken without a signature, with a wrong one, another account's, or too old", async () => {
    for (const path of Object.values(paths)) {
      const raw = eventFor(path)
      const right = by.account.headersOf(raw, now())
      const forged = [
        {},
        { "telnyx-timestamp": right["telnyx-timestamp"] ?? "" },
        { ...right, "telnyx-signature-ed25519": `${"A".repeat(86)}==` },
        signingAccount().headersOf(raw, now()),
        by.account.headersOf(raw, now() - 301_000),
        by.account.headersOf(raw, now() + 301_000),
      ]
      for (const headers of forged) {
        const { status, body } = await by.post(path, raw, headers)
        expect([status, body["error"]]).toEqual([401, "not_signed"])
      }
    }
    expect(by.server.requests).toEqual([])
  })

  it("are not taken where a byte of them was changed, or a key stands in them twice", async () => {
    const raw = eventFor(paths.ours)
    const headers = by.account.headersOf(raw, now())
    for (const changed of [
      raw.replace("success", "successs"),
      ` ${raw}`,
      raw.replace('"attempt":1', '"attempt":1,"attempt":2'),
    ]) {
      expect(changed).not.toBe(raw)
      expect((await by.post(paths.ours, changed, headers)).status).toBe(401)
    }
    expect(by.server.requests).toEqual([])
  })

  it("are no other submission's, whichever address they are sent to", async () => {
    expect((await tell(paths.theirs, eventFor(paths.ours))).status).toBe(401)
    expect((await tell(paths.tollFree, eventFor(paths.ours))).status).toBe(401)
    // Addresses that somebody made up of ours: each id with the other's hash.
    const [ours, theirs] = [paths.ours.split("/"), paths.theirs.split("/")]
    for (const at of [4, 5, 6]) {
      const madeUp = ours.with(at, theirs[at] ?? "").join("/")
      expect((await tell(madeUp, eventFor(madeUp))).status).toBe(401)
    }
    const [owner = "", ofOther = ""] = [theirs.at(-2), ours.at(-2)]
    const numbers = paths.tollFree.replace(owner, ofOther)
    expect(numbers).not.toBe(paths.tollFree)
    expect((await tell(numbers, eventFor(numbers))).status).toBe(401)
    expect(by.server.requests).toEqual([])
  })

  it("are 401 eight days later, whoever plays them back", async () => {
    const raw = eventFor(paths.ours)
    const headers = by.account.headersOf(raw, now() - 8 * 86_400_000)
    expect((await by.post(paths.ours, raw, headers)).status).toBe(401)
  })

  it("are refused unread where they are larger than any event", async () => {
    const raw = eventFor(paths.ours).replace("success", " ".repeat(2 * 1024 * 1024))
    expect((await tell(paths.ours, raw)).status).toBe(413)
  })

  it("are nothing where the account signs what says nothing to us", async () => {
    for (const said of ["", "{}", "[]", '{"data":{"id":1}}', "{", eventFor(paths.ours, "x.y")]) {
      expect([said, await tell(paths.ours, said)]).toEqual([said, NOTHING])
    }
    expect(by.server.requests).toEqual([])
  })

  it("are told again where they could not be taken, and taken then", async () => {
    const raw = eventFor(paths.ours)
    const { idempotency } = by.world.ports
    const away = vi
      .spyOn(idempotency, "claim")
      .mockRejectedValue(new Unavailable("the store is away"))
    expect((await tell(paths.ours, raw)).status).toBe(503)
    away.mockRestore()
    expect(await tell(paths.ours, raw)).toEqual(TAKEN)
  })
})

describe("news of toll-free numbers", () => {
  it("are taken once, in whatever form they are told", async () => {
    for (const raw of [eventFor(paths.tollFree, "anything"), '{"status":"Verified"}', "told"]) {
      const headers = by.account.headersOf(raw, now())
      expect([raw, await by.post(paths.tollFree, raw, headers)]).toEqual([raw, TAKEN])
      expect((await by.post(paths.tollFree, raw, headers)).body).toEqual({ taken: 0, known: 1 })
    }
  })
})
