/** Only the carrier's own notifications of texts are accepted, and each of them once. */
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

const telnyx = await openTelnyxInstallation()
afterAll(() => telnyx.close())

const now = () => telnyx.world.ports.clock.now()

/** The notification of a STOP to a company. */
function stopTo({ phone, number }: TelnyxTextingCompany, id?: string) {
  const message = telnyx.server.receiveText({ from: phone, to: number, text: "STOP", at: now() })
  return JSON.stringify(incomingTextEvent(message, {}, id))
}

describe("the notification of a received text", () => {
  it("is accepted once, even if it arrives many times concurrently", async () => {
    const texting = await telnyx.makeTextingCompany()
    const raw = stopTo(texting)
    const headers = telnyx.account.headersOf(raw, now())
    const answers = await Promise.all(
      Array.from({ length: 50 }, () => telnyx.post(INCOMING_TEXTS_PATH, raw, headers)),
    )
    // While one request records it, the others answer 503, and the carrier sends it again.
    expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([200, 503]))
    expect((await telnyx.post(INCOMING_TEXTS_PATH, raw, headers)).body).toEqual({
      taken: 0,
      known: 1,
    })
    const facts = await texting.facts()
    expect(facts.slice(0, 2)).toEqual(["TextReceived", "OptedOutByText"])
    expect(facts.filter((type) => type === "TextReceived")).toHaveLength(1)
  })

  it("records nothing if the carrier sends it again as another event", async () => {
    const texting = await telnyx.makeTextingCompany()
    const message = telnyx.server.receiveText({
      from: texting.phone,
      to: texting.number,
      text: "Hi",
      at: now(),
    })
    expect((await telnyx.notify(INCOMING_TEXTS_PATH, incomingTextEvent(message))).status).toBe(200)
    expect((await telnyx.notify(INCOMING_TEXTS_PATH, incomingTextEvent(message))).status).toBe(200)
    expect(await texting.facts()).toEqual(["TextReceived"])
  })

  it("is rejected without a signature, with a wrong one, or with another account's", async () => {
    const texting = await telnyx.makeTextingCompany()
    const raw = stopTo(texting)
    const right = telnyx.account.headersOf(raw, now())
    const signature = right["telnyx-signature-ed25519"] ?? ""
    const forged = [
      {},
      { "telnyx-timestamp": right["telnyx-timestamp"] ?? "" },
      { ...right, "telnyx-signature-ed25519": `${"A".repeat(86)}==` },
      { ...right, "telnyx-signature-ed25519": signature.toLowerCase() },
      signingAccount().headersOf(raw, now()),
      telnyx.account.headersOf(raw, now() - 301_000),
      telnyx.account.headersOf(raw, now() + 301_000),
    ]
    for (const headers of forged) {
      const { status, body } = await telnyx.post(INCOMING_TEXTS_PATH, raw, headers)
      expect([status, body["error"]]).toEqual([401, "not_signed"])
    }
    expect(await texting.facts()).toEqual([])
  })

  it("is rejected if a byte changed or a key is duplicated", async () => {
    const texting = await telnyx.makeTextingCompany()
    const raw = stopTo(texting)
    const headers = telnyx.account.headersOf(raw, now())
    for (const changed of [
      raw.replace("STOP", "STOQ"),
      ` ${raw}`,
      raw.replace('"text":"STOP"', '"text":"STOP","text":"START"'),
      `${raw.slice(0, -1)},"data":${JSON.stringify({ id: "x" })}}`,
    ]) {
      expect(changed).not.toBe(raw)
      expect((await telnyx.post(INCOMING_TEXTS_PATH, changed, headers)).status).toBe(401)
    }
    expect(await texting.facts()).toEqual([])
  })

  it("is rejected unread if it is larger than any event", async () => {
    const texting = await telnyx.makeTextingCompany()
    const raw = stopTo(texting).replace("STOP", `STOP${" ".repeat(2 * 1024 * 1024)}`)
    const { status } = await telnyx.post(
      INCOMING_TEXTS_PATH,
      raw,
      telnyx.account.headersOf(raw, now()),
    )
    expect(status).toBe(413)
    expect(await texting.facts()).toEqual([])
  })

  it("is answered with 503 if it cannot be stored, and accepted when it is sent again", async () => {
    const texting = await telnyx.makeTextingCompany()
    const raw = stopTo(texting)
    const headers = telnyx.account.headersOf(raw, now())
    const { runner } = telnyx.world.ports
    const execute = vi
      .spyOn(runner, "execute")
      .mockRejectedValue(new Unavailable("the store is away"))
    expect((await telnyx.post(INCOMING_TEXTS_PATH, raw, headers)).status).toBe(503)
    execute.mockRestore()
    expect(await texting.facts()).toEqual([])
    expect((await telnyx.post(INCOMING_TEXTS_PATH, raw, headers)).body).toEqual({
      taken: 1,
      known: 0,
    })
    expect(telnyx.world.warnings.join(" ")).not.toContain(texting.phone)
  })

  it("is ignored if no company has its number, and is counted", async () => {
    const message = telnyx.server.receiveText({
      from: "+14155550001",
      to: "+19995550001",
      text: "Hi",
      at: now(),
    })
    const answer = await telnyx.notify(INCOMING_TEXTS_PATH, incomingTextEvent(message))
    expect(answer).toEqual({ status: 200, body: { taken: 0, known: 1 } })
    const { payload } = await telnyx.world.app.inject({
      method: "GET",
      url: "/metrics",
      headers: { host: "ledger.test" },
    })
    expect(payload).toContain('ledger_webhook_events_total{provider="telnyx",result="unowned"} 1')
  })

  it("is ignored if its signed content has an unknown form", async () => {
    for (const raw of ["", "{}", "[]", '{"data":{"id":1}}', '"text"', "{"]) {
      const headers = telnyx.account.headersOf(raw, now())
      const { status, body } = await telnyx.post(INCOMING_TEXTS_PATH, raw, headers)
      expect([raw, status, body["taken"]]).toEqual([raw, 200, 0])
    }
  })

  it("is rejected with 401 if it is replayed eight days later", async () => {
    const texting = await telnyx.makeTextingCompany()
    const raw = stopTo(texting)
    const headers = telnyx.account.headersOf(raw, now())
    expect((await telnyx.post(INCOMING_TEXTS_PATH, raw, headers)).status).toBe(200)
    await telnyx.world.operate("wait")
    const facts = await texting.facts()
    await telnyx.world.operate("clock advance", { duration: "8d" })
    expect((await telnyx.post(INCOMING_TEXTS_PATH, raw, headers)).status).toBe(401)
    expect(await texting.facts()).toEqual(facts)
  })

  it("is not quoted in a warning about its rejection", async () => {
    const texting = await telnyx.makeTextingCompany()
    await telnyx.post(INCOMING_TEXTS_PATH, stopTo(texting), {})
    expect(telnyx.world.warnings.join(" ")).not.toContain(texting.phone)
  })
})

describe("the status notification of a text", () => {
  it("is rejected at the address of another text", async () => {
    const texting = await telnyx.makeTextingCompany()
    const [first, second] = [await texting.send(), await texting.send()]
    const before = await texting.facts()
    const { status } = await telnyx.notify(
      webhookPathOf(second.message),
      textStatusEvent(first.message, "delivered"),
    )
    expect(status).toBe(401)
    // A forged address with the ID of another text.
    const mac = webhookPathOf(first.message).split("/").at(-1)
    const forged = `${INCOMING_TEXTS_PATH}/${second.textId}/${mac}`
    expect((await telnyx.notify(forged, textStatusEvent(second.message, "delivered"))).status).toBe(
      401,
    )
    expect(await texting.facts()).toEqual(before)
  })

  it("is ignored if it names other numbers than the text has", async () => {
    const [texting, other] = [await telnyx.makeTextingCompany(), await telnyx.makeTextingCompany()]
    const { message } = await texting.send()
    const before = await texting.facts()
    for (const changed of [
      { ...message, from: other.number },
      { ...message, to: other.phone },
    ]) {
      const answer = await telnyx.notify(
        webhookPathOf(message),
        textStatusEvent(changed, "delivered"),
      )
      expect(answer).toEqual({ status: 200, body: { taken: 0, known: 1 } })
    }
    expect(await texting.facts()).toEqual(before)
    expect(await other.facts()).toEqual([])
  })

  it("changes the status once, even if it is repeated or an older one arrives later", async () => {
    const texting = await telnyx.makeTextingCompany()
    const { message } = await texting.send()
    expect(
      (await telnyx.notify(webhookPathOf(message), textStatusEvent(message, "delivered"))).body[
        "taken"
      ],
    ).toBe(1)
    await telnyx.notify(webhookPathOf(message), textStatusEvent(message, "delivered"))
    await telnyx.notify(webhookPathOf(message), textStatusEvent(message, "sent"))
    expect(await texting.facts()).toEqual(["TextQueued", "TextAccepted", "TextDelivered"])
  })

  it("is translated into our code for the reason of a failure", async () => {
    const texting = await telnyx.makeTextingCompany()
    const { message } = await texting.send()
    await telnyx.notify(
      webhookPathOf(message),
      textStatusEvent(message, "delivery_failed", "40008"),
    )
    await telnyx.world.operate("wait")
    const { body } = await telnyx.world.call(texting.key, "GET", "/api/v1/phone/messages")
    expect(body.messages).toMatchObject([{ status: "failed", errorCode: "unreachable" }])
  })
})
