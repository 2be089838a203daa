/** The carriers of texts keep their contract. */
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

/** A carrier, and how a test has it do something else. */
interface CarrierUnderTest {
  readonly carrier: Carrier
  /** A number that can be bought. */
  readonly forSale: string
  /** What it does to the next text or order. */
  readonly next: (outcome: "unavailable" | "silent" | "reject" | "slow") => Promise<void> | void
}

const ANY = { kind: "local", areaCode: null, contains: null, region: null } as const
let made = 0

function newText(): OutgoingText {
  made += 1
  const numbers = { from: "+12015550100", to: `+1415555${2000 + made}` }
  return { textId: `msg_${made}`, companyId: "co_1", ...numbers, body: "Hello", isTest: false }
}

/** A text as it is asked about. */
function askedOf(text: OutgoingText): SentText {
  const { body: _body, ...rest } = text
  return { ...rest, queuedAt: Date.now() }
}

/** Runs the contract. */
function carrierContract(name: string, open: () => Promise<CarrierUnderTest>): void {
  describe(`${name}, as a carrier`, () => {
    let under: CarrierUnderTest
    beforeEach(async () => {
      under = await open()
    })
    const order = () => ({
      orderId: `num_${(made += 1)}`,
      companyId: "co_1" as const,
      number: under.forSale,
    })

    it("takes a text and knows it from then on", async () => {
      const text = newText()
      const taken = await under.carrier.send(text)
      expect(taken).toMatchObject({ answer: "accepted" })
      expect(await under.carrier.checkTextStatus(askedOf(text))).toEqual(taken)
    })

    it("knows nothing of a text that it never got, though another went to the same person", async () => {
      const text = newText()
      await under.carrier.send(text)
      const other = { ...askedOf(text), textId: "msg_never" }
      expect(await under.carrier.checkTextStatus(other)).toEqual({ answer: "unknown" })
    })

    it("refuses a text with a word for why", async () => {
      await under.next("reject")
      expect(await under.carrier.send(newText())).toMatchObject({
        answer: "rejected",
        errorCode: expect.stringMatching(/./),
      })
    })

    it("takes nothing where it is unavailable, and may have where it is silent", async () => {
      const [never, perhaps] = [newText(), newText()]
      await under.next("unavailable")
      await expect(under.carrier.send(never)).rejects.toThrow(ProviderUnavailable)
      expect(await under.carrier.checkTextStatus(askedOf(never))).toEqual({ answer: "unknown" })
      await under.next("silent")
      await expect(under.carrier.send(perhaps)).rejects.toThrow(ProviderOutcomeUnknown)
      expect(await under.carrier.checkTextStatus(askedOf(perhaps))).toMatchObject({
        answer: "accepted",
      })
    })

    it("offers numbers of a form, and no more than are asked for", async () => {
      expect(await under.carrier.searchNumbers(ANY, 3)).toHaveLength(3)
      const contains = `${under.forSale.slice(5, 8)}*${under.forSale.slice(9)}`
      const found = await under.carrier.searchNumbers({ ...ANY, contains }, 10)
      expect(found.map(({ number }) => number)).toContain(under.forSale)
      const form = new RegExp(contains.replaceAll("*", "\\d"))
      expect(found.every(({ number }) => form.test(number))).toBe(true)
    })

    it("sells a number to one order, which it knows from then on", async () => {
      const [first, second] = [order(), order()]
      const bought = await under.carrier.buyNumber(first)
      expect(bought).toMatchObject({ answer: "bought", carrierRef: expect.stringMatching(/./) })
      expect(await under.carrier.checkOrderStatus(first)).toEqual(bought)
      expect(await under.carrier.buyNumber(second)).toEqual({ answer: "taken" })
      expect(await under.carrier.checkOrderStatus(order())).toEqual({ answer: "unknown" })
    })

    it("may take longer over an order, and finds one that nobody heard of", async () => {
      const slow = order()
      await under.next("slow")
      expect(await under.carrier.buyNumber(slow)).toEqual({ answer: "pending" })
      await under.carrier.checkOrderStatus(slow)
      const bought = await under.carrier.checkOrderStatus(slow)
      expect(bought).toMatchObject({ answer: "bought" })
      await under.carrier.releaseNumber((bought as { carrierRef: string }).carrierRef)
      const silent = order()
      await under.next("silent")
      await expect(under.carrier.buyNumber(silent)).rejects.toThrow(ProviderOutcomeUnknown)
      expect(await under.carrier.checkOrderStatus(silent)).toMatchObject({ answer: "bought" })
    })

    it("lets a number go, once and again, and sells it to the next", async () => {
      const bought = await under.carrier.buyNumber(order())
      const { carrierRef } = bought as { readonly carrierRef: string }
      await under.carrier.releaseNumber(carrierRef)
      await under.carrier.releaseNumber(carrierRef)
      expect(await under.carrier.buyNumber(order())).toMatchObject({ answer: "bought" })
    })

    it("sets its replies again and again", async () => {
      const replies = { optOutReply: "Bye", optInReply: "Hi", helpReply: "Ask us" }
      const all = { companyId: "co_1", ...replies, extraOptOutWords: ["ENOUGH"] } as const
      await under.carrier.setKeywordReplies(all)
      await expect(under.carrier.setKeywordReplies(all)).resolves.toBeUndefined()
    })

    it("believes nothing that nobody signed, and has no texts that nobody sent", async () => {
      const call = { target: "/carriers/telnyx/texts", header: () => null, raw: Buffer.from("{}") }
      expect(under.carrier.readWebhook(call, Date.now())).toBe("forged")
      const pages = []
      for await (const page of under.carrier.receivedSince(0)) pages.push(...page)
      expect(pages).toEqual([])
      expect(await under.carrier.fetchReceived("nothing")).toBeNull()
    })
  })
}

const servers: TelnyxServer[] = []
afterEach(async () => {
  const closed = servers.splice(0)
  await Promise.all(closed.map((one) => one.close()))
  // Whatever was asked is in the vendor's own description, within its limits.
  const against = closed.flatMap((one) => one.vendorFaults)
  if (against.length > 0) throw new Error(against.join("; "))
})

async function builtIn(): Promise<CarrierUnderTest> {
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

carrierContract("the built-in carrier", builtIn)
carrierContract("Telnyx", telnyx)
carrierContract("Telnyx, with the built-in carrier for test numbers", async () => {
  const [{ carrier: tests }, real] = await Promise.all([builtIn(), telnyx()])
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
  it("is told how a text is encoded and where its news go, under one profile of the company", async () => {
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

  it("finds a profile that another process made, and tells it a new address", async () => {
    const { carrier, server } = await telnyx()
    const known = { id: "p1", name: "co_1", created_at: "2026-01-01", webhook_url: "https://old" }
    server.profiles.push({ ...known, id: "p2", created_at: "2026-01-02" }, known)
    await carrier.send(TEXT)
    expect(bodies(server, "POST /messages")).toMatchObject([{ messaging_profile_id: "p1" }])
    expect(known.webhook_url).toBe("https://ledger.test/carriers/telnyx/texts")
  })

  it("hands nothing over where the profile cannot be told", async () => {
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
  ])("says %s in our words", async (code, word) => {
    const { carrier, server } = await telnyx()
    // The refusal that they stopped has the status of what nobody may do.
    server.nextBehavior = { status: code === "40300" ? 403 : 400, code }
    expect(await carrier.send(TEXT)).toEqual({ answer: "rejected", errorCode: word })
  })

  it.each([401, 402, 403])(
    "refuses no text where the account is refused with %i",
    async (status) => {
      const { carrier, server } = await telnyx()
      server.nextBehavior = { status, code: "20100" }
      await expect(carrier.send(TEXT)).rejects.toThrow(ProviderUnavailable)
      server.nextBehavior = { status, code: "20100" }
      const order = { orderId: "num_1", companyId: "co_1", number: "+14155551212" } as const
      await expect(carrier.buyNumber(order)).rejects.toThrow(ProviderUnavailable)
    },
  )

  it("says where it counts other segments than were charged", async () => {
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
    "knows of a text that it is %s, also where it is kept in the books alone",
    async (status, is) => {
      const { carrier, server } = await telnyx()
      await carrier.send(TEXT)
      const [kept] = server.messages
      if (kept === undefined) throw new Error("it has no text")
      kept.status = status
      const asked = { ...TEXT, queuedAt: Date.now() }
      expect(await carrier.checkTextStatus(asked)).toEqual({ ...is, carrierId: kept.id })
      kept.isDeleted = true
      expect(await carrier.checkTextStatus(asked)).toEqual({ ...is, carrierId: kept.id })
    },
  )

  it("has its own replies say what the company's do, and never takes YES for a START", async () => {
    const { carrier, server } = await telnyx()
    const says = { optOutReply: "Bye", optInReply: "Hi", helpReply: "Ask" }
    await carrier.setKeywordReplies({ companyId: "co_1", ...says, extraOptOutWords: ["ENOUGH"] })
    await carrier.setKeywordReplies({
      companyId: "co_1",
      ...says,
      helpReply: "?",
      extraOptOutWords: [],
    })
    const ofUs = server.replies.filter((one) => one["country_code"] === "US")
    expect(ofUs).toMatchObject([
      { op: "stop", resp_text: "Bye", keywords: expect.not.arrayContaining(["ENOUGH"]) },
      { op: "start", resp_text: "Hi", keywords: ["START", "UNSTOP"] },
      { op: "info", resp_text: "?", keywords: ["HELP", "INFO"] },
    ])
    expect(server.replies).toHaveLength(6)
  })

  it("keeps nothing of a company that is erased, however many profiles it had", async () => {
    const { carrier, server } = await telnyx()
    await carrier.send(TEXT)
    server.profiles.push({ ...server.profiles[0], id: "p2" })
    await carrier.eraseCompany("co_1")
    expect(server.profiles).toEqual([])
    await carrier.eraseCompany("co_1")
    // Somebody of that name would be given a new one.
    await carrier.send(TEXT)
    expect(server.profiles).toHaveLength(1)
  })

  it.each([[null], [{ features: null }], [{ features: { sms: null, mms: null } }], [{}]])(
    "says of a new number that it is settling while Telnyx answers %j of its texting",
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

  it("gives a bought number its connection, and our id of the order with whose it is", async () => {
    const { carrier, server } = await telnyx()
    await carrier.buyNumber({ orderId: "num_1", companyId: "co_1", number: "+14155551212" })
    expect(bodies(server, "POST /number_orders")).toMatchObject([
      { customer_reference: "co_1:num_1", connection_id: "77" },
    ])
  })
})

describe("a test number, where Telnyx carries the others", () => {
  it("is of the built-in carrier, to send and to let go", async () => {
    const [{ carrier: tests }, { carrier: real, server }] = await Promise.all([builtIn(), telnyx()])
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
