/** The contract of carriers of texts, for every carrier. */
import { beforeEach, describe, expect, it, afterEach } from "vitest"
import { openSimulatedCarrier } from "../../adapters/providers/carrier/simulator.ts"
import { combineCarriers, openTelnyxCarrier } from "../../adapters/providers/carrier/telnyx.ts"
import type { SentText, Carrier, OutgoingText } from "../../adapters/providers/carrier/port.ts"
import {
  ProviderOutcomeUnknown,
  ProviderUnavailable,
} from "../../adapters/providers/provider-errors.ts"
import { signingAccount } from "../support/telnyx-signing.ts"
import type { TelnyxServer } from "../support/telnyx-server.ts"
import { startTelnyx } from "../support/telnyx-server.ts"
import { newTestSimulators } from "../voice/test-simulators.ts"

/** A carrier, with faults on demand. */
interface CarrierUnderTest {
  readonly carrier: Carrier
  /** A number that can be bought. */
  readonly forSale: string
  /** Sets the outcome of the next text or order. */
  readonly next: (outcome: "unavailable" | "silent" | "reject" | "slow") => Promise<void> | void
}

const ANY = { kind: "local", areaCode: null, contains: null, region: null } as const
let created = 0

function newText(): OutgoingText {
  created += 1
  const numbers = { from: "+12015550100", to: `+1415555${2000 + created}` }
  return { textId: `msg_${created}`, companyId: "co_1", ...numbers, body: "Hello", isTest: false }
}

function statusQueryFor(text: OutgoingText): SentText {
  const { body: _body, ...rest } = text
  return { ...rest, queuedAt: Date.now() }
}

function carrierContract(name: string, open: () => Promise<CarrierUnderTest>): void {
  describe(`${name}, as a carrier`, () => {
    let fixture: CarrierUnderTest
    beforeEach(async () => {
      fixture = await open()
    })
    const order = () => ({
      orderId: `num_${(created += 1)}`,
      companyId: "co_1" as const,
      number: fixture.forSale,
    })

    it("accepts a text, and returns its status afterwards", async () => {
      const text = newText()
      const taken = await fixture.carrier.send(text)
      expect(taken).toMatchObject({ answer: "accepted" })
      expect(await fixture.carrier.checkTextStatus(statusQueryFor(text))).toEqual(taken)
    })

    it("does not know a text that was never sent, even if another one went to the same person", async () => {
      const text = newText()
      await fixture.carrier.send(text)
      const other = { ...statusQueryFor(text), textId: "msg_never" }
      expect(await fixture.carrier.checkTextStatus(other)).toEqual({ answer: "unknown" })
    })

    it("rejects a text with an error code", async () => {
      await fixture.next("reject")
      expect(await fixture.carrier.send(newText())).toMatchObject({
        answer: "rejected",
        errorCode: expect.stringMatching(/./),
      })
    })

    it("accepts nothing while it is unavailable, and may accept a text if its answer is lost", async () => {
      const [never, perhaps] = [newText(), newText()]
      await fixture.next("unavailable")
      await expect(fixture.carrier.send(never)).rejects.toThrow(ProviderUnavailable)
      expect(await fixture.carrier.checkTextStatus(statusQueryFor(never))).toEqual({
        answer: "unknown",
      })
      await fixture.next("silent")
      await expect(fixture.carrier.send(perhaps)).rejects.toThrow(ProviderOutcomeUnknown)
      expect(await fixture.carrier.checkTextStatus(statusQueryFor(perhaps))).toMatchObject({
        answer: "accepted",
      })
    })

    it("offers numbers that match a pattern, up to the limit", async () => {
      expect(await fixture.carrier.searchNumbers(ANY, 3)).toHaveLength(3)
      const contains = `${fixture.forSale.slice(5, 8)}*${fixture.forSale.slice(9)}`
      const found = await fixture.carrier.searchNumbers({ ...ANY, contains }, 10)
      expect(found.map(({ number }) => number)).toContain(fixture.forSale)
      const form = new RegExp(contains.replaceAll("*", "\\d"))
      expect(found.every(({ number }) => form.test(number))).toBe(true)
    })

    it("sells a number to one order, and returns its status afterwards", async () => {
      const [first, second] = [order(), order()]
      const bought = await fixture.carrier.buyNumber(first)
      expect(bought).toMatchObject({ answer: "bought", carrierRef: expect.stringMatching(/./) })
      expect(await fixture.carrier.checkOrderStatus(first)).toEqual(bought)
      expect(await fixture.carrier.buyNumber(second)).toEqual({ answer: "taken" })
      expect(await fixture.carrier.checkOrderStatus(order())).toEqual({ answer: "unknown" })
    })

    it("may complete an order later, and finds an order with a lost answer", async () => {
      const slow = order()
      await fixture.next("slow")
      expect(await fixture.carrier.buyNumber(slow)).toEqual({ answer: "pending" })
      await fixture.carrier.checkOrderStatus(slow)
      const bought = await fixture.carrier.checkOrderStatus(slow)
      expect(bought).toMatchObject({ answer: "bought" })
      await fixture.carrier.releaseNumber((bought as { carrierRef: string }).carrierRef)
      const silent = order()
      await fixture.next("silent")
      await expect(fixture.carrier.buyNumber(silent)).rejects.toThrow(ProviderOutcomeUnknown)
      expect(await fixture.carrier.checkOrderStatus(silent)).toMatchObject({ answer: "bought" })
    })

    it("releases a number, even twice, and can sell it again", async () => {
      const bought = await fixture.carrier.buyNumber(order())
      const { carrierRef } = bought as { readonly carrierRef: string }
      await fixture.carrier.releaseNumber(carrierRef)
      await fixture.carrier.releaseNumber(carrierRef)
      expect(await fixture.carrier.buyNumber(order())).toMatchObject({ answer: "bought" })
    })

    it("can set its keyword replies repeatedly", async () => {
      const replies = { optOutReply: "Bye", optInReply: "Hi", helpReply: "Ask us" }
      const all = { companyId: "co_1", ...replies, extraOptOutWords: ["ENOUGH"] } as const
      await fixture.carrier.setKeywordReplies(all)
      await expect(fixture.carrier.setKeywordReplies(all)).resolves.toBeUndefined()
    })

    it("rejects unsigned webhooks, and has no received texts by itself", async () => {
      const call = { target: "/carriers/telnyx/texts", header: () => null, raw: Buffer.from("{}") }
      expect(fixture.carrier.readWebhook(call, Date.now())).toBe("forged")
      const pages = []
      for await (const page of fixture.carrier.receivedSince(0)) pages.push(...page)
      expect(pages).toEqual([])
      expect(await fixture.carrier.fetchReceived("nothing")).toBeNull()
    })
  })
}

const servers: TelnyxServer[] = []
afterEach(async () => {
  const closed = servers.splice(0)
  await Promise.all(closed.map((one) => one.close()))
  // Every request must match the vendor's API description and its limits.
  const faults = closed.flatMap((one) => one.vendorFaults)
  if (faults.length > 0) throw new Error(faults.join("; "))
})

async function simulatedCarrier(): Promise<CarrierUnderTest> {
  const { simulatorMemory, simulators } = newTestSimulators()
  const pacer = { elapsedMs: () => 0, pause: async () => undefined }
  const carrier = openSimulatedCarrier({ simulatorMemory, simulators, pacer }, () => undefined)
  const next: CarrierUnderTest["next"] = (outcome) =>
    simulators.set({ name: "carrier", outcome, times: 1 })
  return { carrier, forSale: "+14155550123", next }
}

async function telnyx(): Promise<
  CarrierUnderTest & { readonly server: TelnyxServer; readonly warnings: string[] }
> {
  const server = await startTelnyx()
  servers.push(server)
  const warnings: string[] = []
  const carrier = openTelnyxCarrier({
    key: server.key,
    publicKey: signingAccount().publicKey,
    url: server.url,
    connectionId: "77",
    baseUrl: () => "https://ledger.test",
    keyedHash: (text) => Buffer.from(text.padEnd(16, "_")).toString("hex").slice(-32),
    warn: (message) => warnings.push(message),
  })
  const next: CarrierUnderTest["next"] = (outcome) => {
    const code = { status: 400, code: "40001" }
    server.nextBehavior = outcome === "reject" ? code : outcome === "slow" ? "pending" : outcome
  }
  return { carrier, forSale: "+14155551212", next, server, warnings }
}

carrierContract("the simulator", simulatedCarrier)
carrierContract("Telnyx", telnyx)
carrierContract("Telnyx, with the simulator for test numbers", async () => {
  const [{ carrier: tests }, real] = await Promise.all([simulatedCarrier(), telnyx()])
  return { ...real, carrier: combineCarriers(tests, real.carrier) }
})

const TEXT = {
  textId: "msg_1",
  companyId: "co_1" as const,
  from: "+12015550100",
  to: "+14155550199",
  body: "Hello",
  isTest: false,
} as const
const bodies = ({ requests }: TelnyxServer, call: string) =>
  requests.filter((one) => one.call === call).map(({ body }) => body)

describe("Telnyx", () => {
  it("gets a text's encoding and webhook address, under one profile of the company", async () => {
    const { carrier, server } = await telnyx()
    await carrier.send(TEXT)
    await carrier.send({ ...TEXT, textId: "msg_2", body: "Привет" })
    const [first, second] = bodies(server, "POST /messages")
    expect(first).toMatchObject({
      from: TEXT.from,
      to: TEXT.to,
      text: "Hello",
      encoding: "gsm7",
      use_profile_webhooks: false,
      webhook_url: expect.stringMatching(
        /^https:\/\/ledger\.test\/carriers\/telnyx\/texts\/msg_1\/[0-9a-f]{32}$/,
      ),
    })
    expect(second).toMatchObject({ encoding: "ucs2" })
    expect(bodies(server, "POST /messaging_profiles")).toMatchObject([
      {
        name: "co_1",
        smart_encoding: false,
        webhook_api_version: "2",
        webhook_url: "https://ledger.test/carriers/telnyx/texts",
      },
    ])
    expect(first?.["messaging_profile_id"]).toBe(server.profiles[0]?.["id"])
  })

  it("finds a profile that another process created, and updates its webhook address", async () => {
    const { carrier, server } = await telnyx()
    const known = { id: "p1", name: "co_1", created_at: "2026-01-01", webhook_url: "https://old" }
    server.profiles.push({ ...known, id: "p2", created_at: "2026-01-02" }, known)
    await carrier.send(TEXT)
    expect(bodies(server, "POST /messages")).toMatchObject([{ messaging_profile_id: "p1" }])
    expect(known.webhook_url).toBe("https://ledger.test/carriers/telnyx/texts")
  })

  it("sends nothing if the profile cannot be updated", async () => {
    const { carrier, server } = await telnyx()
    await server.close()
    await expect(carrier.send(TEXT)).rejects.toThrow(ProviderUnavailable)
  })

  it.each([
    ["40001", "landline"],
    ["40017", "spam"],
    ["40300", "opted_out"],
    ["40330", "not_registered"],
    ["40999", "carrier_40999"],
  ])("maps its error %s to our error code %s", async (code, word) => {
    const { carrier, server } = await telnyx()
    // Telnyx uses 403, the status of forbidden requests, for recipients that opted out.
    server.nextBehavior = { status: code === "40300" ? 403 : 400, code }
    expect(await carrier.send(TEXT)).toEqual({ answer: "rejected", errorCode: word })
  })

  it.each([401, 402, 403])("rejects no text if the account is rejected with %i", async (status) => {
    const { carrier, server } = await telnyx()
    server.nextBehavior = { status, code: "20100" }
    await expect(carrier.send(TEXT)).rejects.toThrow(ProviderUnavailable)
    server.nextBehavior = { status, code: "20100" }
    const order = { orderId: "num_1", companyId: "co_1", number: "+14155551212" } as const
    await expect(carrier.buyNumber(order)).rejects.toThrow(ProviderUnavailable)
  })

  it("logs a warning if it counts other segments than were charged", async () => {
    const { carrier, warnings } = await telnyx()
    await carrier.send({ ...TEXT, body: "x".repeat(200) })
    expect(warnings).toEqual(["Telnyx counts 1 segments for msg_1"])
  })

  it.each([
    ["queued", { answer: "accepted" }],
    ["delivery_unconfirmed", { answer: "accepted" }],
    ["delivered", { answer: "delivered" }],
    ["delivery_failed", { answer: "undelivered", errorCode: "unknown" }],
    ["expired", { answer: "undelivered", errorCode: "expired" }],
  ])(
    "returns the status %s of a text, even if only the billing records have it",
    async (status, expected) => {
      const { carrier, server } = await telnyx()
      await carrier.send(TEXT)
      const [stored] = server.messages
      if (stored === undefined) throw new Error("it has no text")
      stored.status = status
      const query = { ...TEXT, queuedAt: Date.now() }
      expect(await carrier.checkTextStatus(query)).toEqual({ ...expected, carrierId: stored.id })
      stored.isDeleted = true
      expect(await carrier.checkTextStatus(query)).toEqual({ ...expected, carrierId: stored.id })
    },
  )

  it("sets its own replies to the company's, and never treats YES as START", async () => {
    const { carrier, server } = await telnyx()
    const replies = { optOutReply: "Bye", optInReply: "Hi", helpReply: "Ask" }
    await carrier.setKeywordReplies({ companyId: "co_1", ...replies, extraOptOutWords: ["ENOUGH"] })
    await carrier.setKeywordReplies({
      companyId: "co_1",
      ...replies,
      helpReply: "?",
      extraOptOutWords: [],
    })
    const usReplies = server.replies.filter((one) => one["country_code"] === "US")
    expect(usReplies).toMatchObject([
      { op: "stop", resp_text: "Bye", keywords: expect.not.arrayContaining(["ENOUGH"]) },
      { op: "start", resp_text: "Hi", keywords: ["START", "UNSTOP"] },
      { op: "info", resp_text: "?", keywords: ["HELP", "INFO"] },
    ])
    expect(server.replies).toHaveLength(6)
  })

  it("deletes all profiles of an erased company", async () => {
    const { carrier, server } = await telnyx()
    await carrier.send(TEXT)
    server.profiles.push({ ...server.profiles[0], id: "p2" })
    await carrier.eraseCompany("co_1")
    expect(server.profiles).toEqual([])
    await carrier.eraseCompany("co_1")
    // A later text of the company creates a new profile.
    await carrier.send(TEXT)
    expect(server.profiles).toHaveLength(1)
  })

  it.each([[null], [{ features: null }], [{ features: { sms: null, mms: null } }], [{}]])(
    "reports a new number as settling while Telnyx answers %j about its texting",
    async (texting) => {
      const { carrier, server } = await telnyx()
      server.texting = texting
      const order = { orderId: "num_1", companyId: "co_1", number: "+14155551212" } as const
      expect(await carrier.buyNumber(order)).toMatchObject({ answer: "settling", sms: false })
      expect(await carrier.checkOrderStatus(order)).toMatchObject({ answer: "settling" })
      server.texting = { features: { sms: {}, mms: {} } }
      expect(await carrier.checkOrderStatus(order)).toMatchObject({
        answer: "bought",
        sms: true,
        mms: true,
      })
    },
  )

  it("assigns a bought number to its connection, and refers to our company and order", async () => {
    const { carrier, server } = await telnyx()
    await carrier.buyNumber({ orderId: "num_1", companyId: "co_1", number: "+14155551212" })
    expect(bodies(server, "POST /number_orders")).toMatchObject([
      { customer_reference: "co_1:num_1", connection_id: "77" },
    ])
  })
})

describe("a test number, if Telnyx carries the others", () => {
  it("belongs to the simulator, even when it is released", async () => {
    const [{ carrier: tests }, { carrier: real, server }] = await Promise.all([
      simulatedCarrier(),
      telnyx(),
    ])
    const joined: Carrier = combineCarriers(tests, real)
    expect(await joined.send({ ...TEXT, isTest: true })).toMatchObject({
      carrierId: "builtin-msg_1",
    })
    await joined.releaseNumber("num_1")
    expect(server.requests).toEqual([])
    expect(joined).toMatchObject({
      isSimulator: false,
      isIdempotent: false,
      hasKeywordReplies: true,
    })
  })
})
