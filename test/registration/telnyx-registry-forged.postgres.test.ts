/** Only Telnyx's own notifications of registrations are accepted, each once, and their content is never trusted. */
import { randomUUID } from "node:crypto"
import { afterAll, beforeEach, describe, expect, it, vi } from "vitest"
import { Unavailable } from "../../adapters/eventstore/port.ts"
import { openTelnyxInstallation } from "../phone/telnyx-installation.ts"
import { newBusinessSubmission, newNumberRegistration } from "../support/registrations.ts"
import { signingAccount } from "../support/telnyx-signing.ts"
import { makeCompany } from "../support/world.ts"

const telnyx = await openTelnyxInstallation()
afterAll(() => telnyx.close())
const paths = await makePaths()
beforeEach(() => {
  telnyx.server.requests.length = 0
})

/** Paths of notifications about a business, another company's business, and toll-free numbers. */
async function makePaths() {
  const { registry } = telnyx.world.ports
  const { brands, verifications } = telnyx.server.registry
  const pathOf = (url: unknown) => new URL(String(url)).pathname
  const businessPaths: string[] = []
  for (const { companyId } of [await makeCompany(telnyx.world), await makeCompany(telnyx.world)]) {
    await registry.submit(
      newBusinessSubmission({ companyId, submissionId: `reg_${randomUUID().slice(0, 8)}` }),
    )
    businessPaths.push(pathOf(brands.at(-1)?.["webhookURL"]))
    await registry.registerNumber(newNumberRegistration("c1", { companyId, kind: "toll_free" }))
  }
  const [ours = "", theirs = ""] = businessPaths
  return { ours, theirs, tollFree: pathOf(verifications.at(-1)?.["webhookUrl"]) }
}

const now = () => telnyx.world.ports.clock.now()

/** An event in Telnyx's format. */
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

const notify = (path: string, raw: string) =>
  telnyx.post(path, raw, telnyx.account.headersOf(raw, now()))
const ACCEPTED = { status: 200, body: { taken: 1, known: 0 } }
const IGNORED = { status: 200, body: { taken: 0, known: 0 } }

describe("a notification of a registration", () => {
  it.each(["10dlc.brand.update", "10dlc.campaign.update", "10dlc.phone_number.update"])(
    "of type %s is accepted once, and only causes a status check",
    async (type) => {
      const raw = eventFor(paths.ours, type)
      expect(await notify(paths.ours, raw)).toEqual(ACCEPTED)
      expect(await notify(paths.ours, raw)).toEqual({ status: 200, body: { taken: 0, known: 1 } })
      expect(telnyx.server.requests.filter(({ call }) => !call.startsWith("GET "))).toEqual([])
    },
  )

  it.each([
    ["an event without its envelope", (raw: string) => JSON.parse(raw).data],
    ["the payload of a brand alone", (raw: string) => JSON.parse(raw).data.payload],
    ["the payload of a campaign alone", () => ({ campaignId: "c1", status: "ACCEPTED" })],
    ["the payload of a number alone", () => ({ phoneNumber: "+14155551200", campaignId: "c1" })],
  ])("is accepted once as %s", async (_form, formOf) => {
    const raw = JSON.stringify(formOf(eventFor(paths.ours)))
    const headers = telnyx.account.headersOf(raw, now())
    expect(await telnyx.post(paths.ours, raw, headers)).toEqual(ACCEPTED)
    expect((await telnyx.post(paths.ours, raw, headers)).body).toEqual({ taken: 0, known: 1 })
    expect(telnyx.server.requests.filter(({ call }) => !call.startsWith("GET "))).toEqual([])
  })

  it("is accepted once, even if it arrives many times concurrently", async () => {
    const raw = eventFor(paths.ours)
    const answers = await Promise.all(Array.from({ length: 50 }, () => notify(paths.ours, raw)))
    // While one request records it, the others answer 503, and Telnyx sends it again.
    expect(answers.every(({ status }) => status === 200 || status === 503)).toBe(true)
    expect(answers.filter(({ body }) => body["taken"] === 1)).toHaveLength(1)
    expect((await notify(paths.ours, raw)).body).toEqual({ taken: 0, known: 1 })
  })

  it("is rejected without a signature, or with one that is wrong, another account's or too old", async () => {
    for (const path of Object.values(paths)) {
      const raw = eventFor(path)
      const right = telnyx.account.headersOf(raw, now())
      const forged = [
        {},
        { "telnyx-timestamp": right["telnyx-timestamp"] ?? "" },
        { ...right, "telnyx-signature-ed25519": `${"A".repeat(86)}==` },
        signingAccount().headersOf(raw, now()),
        telnyx.account.headersOf(raw, now() - 301_000),
        telnyx.account.headersOf(raw, now() + 301_000),
      ]
      for (const headers of forged) {
        const { status, body } = await telnyx.post(path, raw, headers)
        expect([status, body["error"]]).toEqual([401, "not_signed"])
      }
    }
    expect(telnyx.server.requests).toEqual([])
  })

  it("is rejected if a byte changed or a key is duplicated", async () => {
    const raw = eventFor(paths.ours)
    const headers = telnyx.account.headersOf(raw, now())
    for (const changed of [
      raw.replace("success", "successs"),
      ` ${raw}`,
      raw.replace('"attempt":1', '"attempt":1,"attempt":2'),
    ]) {
      expect(changed).not.toBe(raw)
      expect((await telnyx.post(paths.ours, changed, headers)).status).toBe(401)
    }
    expect(telnyx.server.requests).toEqual([])
  })

  it("is rejected at the address of another submission", async () => {
    expect((await notify(paths.theirs, eventFor(paths.ours))).status).toBe(401)
    expect((await notify(paths.tollFree, eventFor(paths.ours))).status).toBe(401)
    // Forged addresses, each with one part of the other company's address.
    const [ours, theirs] = [paths.ours.split("/"), paths.theirs.split("/")]
    for (const at of [4, 5, 6]) {
      const forged = ours.with(at, theirs[at] ?? "").join("/")
      expect((await notify(forged, eventFor(forged))).status).toBe(401)
    }
    const [owner = "", ofOther = ""] = [theirs.at(-2), ours.at(-2)]
    const numbers = paths.tollFree.replace(owner, ofOther)
    expect(numbers).not.toBe(paths.tollFree)
    expect((await notify(numbers, eventFor(numbers))).status).toBe(401)
    expect(telnyx.server.requests).toEqual([])
  })

  it("is rejected with 401 if it is replayed eight days later", async () => {
    const raw = eventFor(paths.ours)
    const headers = telnyx.account.headersOf(raw, now() - 8 * 86_400_000)
    expect((await telnyx.post(paths.ours, raw, headers)).status).toBe(401)
  })

  it("is rejected unread if it is larger than any event", async () => {
    const raw = eventFor(paths.ours).replace("success", " ".repeat(2 * 1024 * 1024))
    expect((await notify(paths.ours, raw)).status).toBe(413)
  })

  it("is ignored if its signed content has an unknown form", async () => {
    for (const raw of ["", "{}", "[]", '{"data":{"id":1}}', "{", eventFor(paths.ours, "x.y")]) {
      expect([raw, await notify(paths.ours, raw)]).toEqual([raw, IGNORED])
    }
    expect(telnyx.server.requests).toEqual([])
  })

  it("is answered with 503 if it cannot be claimed, and accepted when it is sent again", async () => {
    const raw = eventFor(paths.ours)
    const { idempotency } = telnyx.world.ports
    const claim = vi
      .spyOn(idempotency, "claim")
      .mockRejectedValue(new Unavailable("the store is away"))
    expect((await notify(paths.ours, raw)).status).toBe(503)
    claim.mockRestore()
    expect(await notify(paths.ours, raw)).toEqual(ACCEPTED)
  })
})

describe("a notification of a toll-free number", () => {
  it("is accepted once, in any form", async () => {
    for (const raw of [eventFor(paths.tollFree, "anything"), '{"status":"Verified"}', "text"]) {
      const headers = telnyx.account.headersOf(raw, now())
      expect([raw, await telnyx.post(paths.tollFree, raw, headers)]).toEqual([raw, ACCEPTED])
      expect((await telnyx.post(paths.tollFree, raw, headers)).body).toEqual({ taken: 0, known: 1 })
    }
  })
})
