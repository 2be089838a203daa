/** Nobody but the carrier tells of texts, and the carrier tells nothing twice. */
import { afterAll, describe, expect, it, vi } from "vitest"
import { Unavailable } from "../../adapters/eventstore/port.ts"
import { signingAccount } from "../support/telnyx-signing.ts"
import {
  type TelnyxTextingCompany,
  INCOMING_TEXTS_PATH,
  incomingTextEvent,
  textStatusEvent,
  openTelnyxInstallation,
  webhookPathOf,
} from "./telnyx-installation.ts"

const by = await openTelnyxInstallation()
afterAll(() => by.close())

const now = () => by.world.ports.clock.now()

/** A STOP to a company, as Telnyx would tell it. */
function stopTo({ phone, number }: TelnyxTextingCompany, id?: string) {
  const kept = by.server.receiveText({ from: phone, to: number, text: "STOP", at: now() })
  return JSON.stringify(incomingTextEvent(kept, {}, id))
}

describe("a text that came in", () => {
  it("is taken once, however often it is told at once", async () => {
    const texting = await by.makeTexting()
    const raw = stopTo(texting)
    const headers = by.account.headersOf(raw, now())
    const told = await Promise.all(
      Array.from({ length: 50 }, () => by.post(INCOMING_TEXTS_PATH, raw, headers)),
    )
    // Whoever is told of it while it is taken in says so, and it is told again.
    expect(new Set(told.map(({ status }) => status))).toEqual(new Set([200, 503]))
    expect((await by.post(INCOMING_TEXTS_PATH, raw, headers)).body).toEqual({ taken: 0, known: 1 })
    const facts = await texting.facts()
    expect(facts.slice(0, 2)).toEqual(["TextReceived", "OptedOutByText"])
    expect(facts.filter((type) => type === "TextReceived")).toHaveLength(1)
  })

  it("is nothing new where the carrier names another event of it", async () => {
    const texting = await by.makeTexting()
    const kept = by.server.receiveText({
      from: texting.phone,
      to: texting.number,
      text: "Hi",
      at: now(),
    })
    expect((await by.tell(INCOMING_TEXTS_PATH, incomingTextEvent(kept))).status).toBe(200)
    expect((await by.tell(INCOMING_TEXTS_PATH, incomingTextEvent(kept))).status).toBe(200)
    expect(await texting.facts()).toEqual(["TextReceived"])
  })

  it("is not taken without a signature, with a wrong one, or with another account's", async () => {
    const texting = await by.makeTexting()
    const raw = stopTo(texting)
    const right = by.account.headersOf(raw, now())
    const signature = right["telnyx-signature-ed25519"] ?? ""
    const forged = [
      {},
      { "telnyx-timestamp": right["telnyx-timestamp"] ?? "" },
      { ...right, "telnyx-signature-ed25519": `${"A".repeat(86)}==` },
      { ...right, "telnyx-signature-ed25519": signature.toLowerCase() },
      signingAccount().headersOf(raw, now()),
      by.account.headersOf(raw, now() - 301_000),
      by.account.headersOf(raw, now() + 301_000),
    ]
    for (const headers of forged) {
      const { status, body } = await by.post(INCOMING_TEXTS_PATH, raw, headers)
      expect([status, body["error"]]).toEqual([401, "not_signed"])
    }
    expect(await texting.facts()).toEqual([])
  })

  it("is not taken where a byte of it was changed, or a key stands in it twice", async () => {
    const texting = await by.makeTexting()
    const raw = stopTo(texting)
    const headers = by.account.headersOf(raw, now())
    for (const changed of [
      raw.replace("STOP", "STOQ"),
      ` ${raw}`,
      raw.replace('"text":"STOP"', '"text":"STOP","text":"START"'),
      `${raw.slice(0, -1)},"data":${JSON.stringify({ id: "x" })}}`,
    ]) {
      expect(changed).not.toBe(raw)
      expect((await by.post(INCOMING_TEXTS_PATH, changed, headers)).status).toBe(401)
    }
    expect(await texting.facts()).toEqual([])
  })

  it("is refused unread where it is larger than any event", async () => {
    const texting = await by.makeTexting()
    const raw = stopTo(texting).replace("STOP", `STOP${" ".repeat(2 * 1024 * 1024)}`)
    const { status } = await by.post(INCOMING_TEXTS_PATH, raw, by.account.headersOf(raw, now()))
    expect(status).toBe(413)
    expect(await texting.facts()).toEqual([])
  })

  it("is told again where it could not be stored, and taken then", async () => {
    const texting = await by.makeTexting()
    const raw = stopTo(texting)
    const headers = by.account.headersOf(raw, now())
    const { runner } = by.world.ports
    const away = vi.spyOn(runner, "execute").mockRejectedValue(new Unavailable("the store is away"))
    expect((await by.post(INCOMING_TEXTS_PATH, raw, headers)).status).toBe(503)
    away.mockRestore()
    expect(await texting.facts()).toEqual([])
    expect((await by.post(INCOMING_TEXTS_PATH, raw, headers)).body).toEqual({ taken: 1, known: 0 })
    expect(by.world.warnings.join(" ")).not.toContain(texting.phone)
  })

  it("is of nobody where nobody has its number, and is counted", async () => {
    const kept = by.server.receiveText({
      from: "+14155550001",
      to: "+19995550001",
      text: "Hi",
      at: now(),
    })
    const told = await by.tell(INCOMING_TEXTS_PATH, incomingTextEvent(kept))
    expect(told).toEqual({ status: 200, body: { taken: 0, known: 1 } })
    const { payload } = await by.world.app.inject({
      method: "GET",
      url: "/metrics",
      headers: { host: "ledger.test" },
    })
    expect(payload).toContain('ledger_webhook_events_total{provider="telnyx",result="unowned"} 1')
  })

  it("is nothing where the account signs what says nothing to us", async () => {
    for (const said of ["", "{}", "[]", '{"data":{"id":1}}', '"text"', "{"]) {
      const headers = by.account.headersOf(said, now())
      const { status, body } = await by.post(INCOMING_TEXTS_PATH, said, headers)
      expect([said, status, body["taken"]]).toEqual([said, 200, 0])
    }
  })

  it("is 401 eight days later, whoever plays it back", async () => {
    const texting = await by.makeTexting()
    const raw = stopTo(texting)
    const headers = by.account.headersOf(raw, now())
    expect((await by.post(INCOMING_TEXTS_PATH, raw, headers)).status).toBe(200)
    await by.world.operate("wait")
    const facts = await texting.facts()
    await by.world.operate("clock advance", { duration: "8d" })
    expect((await by.post(INCOMING_TEXTS_PATH, raw, headers)).status).toBe(401)
    expect(await texting.facts()).toEqual(facts)
  })

  it("is in no warning of a refusal", async () => {
    const texting = await by.makeTexting()
    await by.post(INCOMING_TEXTS_PATH, stopTo(texting), {})
    expect(by.world.warnings.join(" ")).not.toContain(texting.phone)
  })
})

describe("news of a text", () => {
  it("are no other text's, whichever address they are sent to", async () => {
    const texting = await by.makeTexting()
    const [first, second] = [await texting.send(), await texting.send()]
    const before = await texting.facts()
    const { status } = await by.tell(
      webhookPathOf(second.kept),
      textStatusEvent(first.kept, "delivered"),
    )
    expect(status).toBe(401)
    // An address that somebody made up, with the id of another text.
    const mac = webhookPathOf(first.kept).split("/").at(-1)
    const madeUp = `${INCOMING_TEXTS_PATH}/${second.textId}/${mac}`
    expect((await by.tell(madeUp, textStatusEvent(second.kept, "delivered"))).status).toBe(401)
    expect(await texting.facts()).toEqual(before)
  })

  it("are nobody's where they name other numbers than the text has", async () => {
    const [texting, other] = [await by.makeTexting(), await by.makeTexting()]
    const { kept } = await texting.send()
    const before = await texting.facts()
    for (const named of [
      { ...kept, from: other.number },
      { ...kept, to: other.phone },
    ]) {
      const told = await by.tell(webhookPathOf(kept), textStatusEvent(named, "delivered"))
      expect(told).toEqual({ status: 200, body: { taken: 0, known: 1 } })
    }
    expect(await texting.facts()).toEqual(before)
    expect(await other.facts()).toEqual([])
  })

  it("change the status once, also where they come twice or the older ones last", async () => {
    const texting = await by.makeTexting()
    const { kept } = await texting.send()
    expect(
      (await by.tell(webhookPathOf(kept), textStatusEvent(kept, "delivered"))).body["taken"],
    ).toBe(1)
    await by.tell(webhookPathOf(kept), textStatusEvent(kept, "delivered"))
    await by.tell(webhookPathOf(kept), textStatusEvent(kept, "sent"))
    expect(await texting.facts()).toEqual(["TextQueued", "TextAccepted", "TextDelivered"])
  })

  it("say in our words why a text was not delivered", async () => {
    const texting = await by.makeTexting()
    const { kept } = await texting.send()
    await by.tell(webhookPathOf(kept), textStatusEvent(kept, "delivery_failed", "40008"))
    await by.world.operate("wait")
    const { body } = await by.world.call(texting.key, "GET", "/api/v1/phone/messages")
    expect(body.messages).toMatchObject([{ status: "failed", errorCode: "unreachable" }])
  })
})
