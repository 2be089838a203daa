/** What every carrier keeps: a text and an order are known by our id of them, whatever was answered. */
import { beforeEach, describe, expect, it } from "vitest"
import type { AskedText, Carrier, OutgoingText } from "../../adapters/providers/carrier/port.ts"
import { ProviderSilent, ProviderUnavailable } from "../../adapters/providers/outside.ts"

/** A carrier, and how a test has it do something else. */
export interface CarrierUnderTest {
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
function askedOf(text: OutgoingText): AskedText {
  const { body: _body, ...rest } = text
  return { ...rest, queuedAt: Date.now() }
}

/** Runs the contract. */
export function carrierContract(name: string, open: () => Promise<CarrierUnderTest>): void {
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
      expect(await under.carrier.ask(askedOf(text))).toEqual(taken)
    })

    it("knows nothing of a text that it never got, though another went to the same person", async () => {
      const text = newText()
      await under.carrier.send(text)
      const other = { ...askedOf(text), textId: "msg_never" }
      expect(await under.carrier.ask(other)).toEqual({ answer: "unknown" })
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
      expect(await under.carrier.ask(askedOf(never))).toEqual({ answer: "unknown" })
      await under.next("silent")
      await expect(under.carrier.send(perhaps)).rejects.toThrow(ProviderSilent)
      expect(await under.carrier.ask(askedOf(perhaps))).toMatchObject({ answer: "accepted" })
    })

    it("offers numbers of a form, and no more than are asked for", async () => {
      expect(await under.carrier.search(ANY, 3)).toHaveLength(3)
      const contains = `${under.forSale.slice(5, 8)}*${under.forSale.slice(9)}`
      const found = await under.carrier.search({ ...ANY, contains }, 10)
      expect(found.map(({ number }) => number)).toContain(under.forSale)
      const form = new RegExp(contains.replaceAll("*", "\\d"))
      expect(found.every(({ number }) => form.test(number))).toBe(true)
    })

    it("sells a number to one order, which it knows from then on", async () => {
      const [first, second] = [order(), order()]
      const bought = await under.carrier.buy(first)
      expect(bought).toMatchObject({ answer: "bought", carrierRef: expect.stringMatching(/./) })
      expect(await under.carrier.askOrder(first)).toEqual(bought)
      expect(await under.carrier.buy(second)).toEqual({ answer: "taken" })
      expect(await under.carrier.askOrder(order())).toEqual({ answer: "unknown" })
    })

    it("may take longer over an order, and finds one that nobody heard of", async () => {
      const slow = order()
      await under.next("slow")
      expect(await under.carrier.buy(slow)).toEqual({ answer: "pending" })
      await under.carrier.askOrder(slow)
      const bought = await under.carrier.askOrder(slow)
      expect(bought).toMatchObject({ answer: "bought" })
      await under.carrier.release((bought as { carrierRef: string }).carrierRef)
      const silent = order()
      await under.next("silent")
      await expect(under.carrier.buy(silent)).rejects.toThrow(ProviderSilent)
      expect(await under.carrier.askOrder(silent)).toMatchObject({ answer: "bought" })
    })

    it("lets a number go, once and again, and sells it to the next", async () => {
      const bought = await under.carrier.buy(order())
      const { carrierRef } = bought as { readonly carrierRef: string }
      await under.carrier.release(carrierRef)
      await under.carrier.release(carrierRef)
      expect(await under.carrier.buy(order())).toMatchObject({ answer: "bought" })
    })

    it("sets its replies again and again", async () => {
      const replies = { optOutReply: "Bye", optInReply: "Hi", helpReply: "Ask us" }
      const all = { companyId: "co_1", ...replies, extraOptOutWords: ["ENOUGH"] } as const
      await under.carrier.setReplies(all)
      await expect(under.carrier.setReplies(all)).resolves.toBeUndefined()
    })

    it("believes nothing that nobody signed, and has no texts that nobody sent", async () => {
      const call = { target: "/carriers/telnyx/texts", header: () => null, raw: Buffer.from("{}") }
      expect(under.carrier.read(call, Date.now())).toBe("forged")
      const pages = []
      for await (const page of under.carrier.cameSince(0)) pages.push(...page)
      expect(pages).toEqual([])
      expect(await under.carrier.fetchCame("nothing")).toBeNull()
    })
  })
}
