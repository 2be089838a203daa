/** An installation whose texts Telnyx carries, by its stand-in, and what that account signs. */
import { randomUUID } from "node:crypto"
import {
  type TelnyxServerMessage,
  telnyxMessageBody,
  startTelnyx,
} from "../support/telnyx-server.ts"
import { signingAccount } from "../support/telnyx-signing.ts"
import { makeCompany, openWorld } from "../support/world.ts"
import { recipientFactTypes } from "../effects/texts.ts"
import { buyNumberForId } from "./number-orders.ts"
import { newPhoneNumber, postText } from "./text-requests.ts"

/** Where texts are told of that come in. */
export const INCOMING_TEXTS_PATH = "/carriers/telnyx/texts"

/** An event as Telnyx tells it. */
export const newTelnyxEvent = (type: string, payload: object, id: string = randomUUID()) => ({
  data: { record_type: "event", id, event_type: type, occurred_at: "2026-11-25", payload },
})

/** The event of a text that came in. */
export const incomingTextEvent = (kept: TelnyxServerMessage, more: object = {}, id?: string) =>
  newTelnyxEvent("message.received", { ...telnyxMessageBody(kept), ...more }, id)

/** The event of how a text ended, or goes on. */
export function textStatusEvent(kept: TelnyxServerMessage, status: string, code?: string): object {
  const errors = code === undefined ? [] : [{ code, title: "It failed" }]
  const type = status === "sent" ? "message.sent" : "message.finalized"
  return newTelnyxEvent(type, { ...telnyxMessageBody({ ...kept, status }), errors })
}

/** The path where news of a text are told. */
export const webhookPathOf = ({ webhookUrl }: TelnyxServerMessage): string =>
  new URL(webhookUrl ?? "http://x").pathname

/** The installation, and both sides of Telnyx. */
export type TelnyxInstallation = Awaited<ReturnType<typeof openTelnyxInstallation>>

/** A company with a number of Telnyx's, and whom it texts. */
export type TelnyxTextingCompany = Awaited<ReturnType<TelnyxInstallation["makeTexting"]>>

/** Opens one. */
export async function openTelnyxInstallation() {
  let now = () => Date.now()
  const server = await startTelnyx(() => now())
  const account = signingAccount()
  const settings = {
    TELNYX_KEY: server.key,
    TELNYX_PUBLIC_KEY: account.publicKey,
    TELNYX_URL: server.url,
    BASE_URL: "http://ledger.test",
  }
  const world = await openWorld("settings", { settings, rateLimits: "off" })
  now = () => world.ports.clock.now()
  const post = async (url: string, payload: string, headers: Record<string, string>) => {
    const answer = await world.app.inject({
      method: "POST" as const,
      url,
      payload,
      headers: { host: "ledger.test", "content-type": "application/json", ...headers },
    })
    return { status: answer.statusCode, body: answer.json() }
  }
  return {
    world,
    server,
    account,
    /** Calls back with bytes and headers as they are given. */
    post,
    /** Calls back with an event that the account has signed just now. */
    tell: (path: string, event: object) => {
      const raw = JSON.stringify(event)
      return post(path, raw, account.headersOf(raw, now()))
    },
    makeTexting: async () => {
      const company = await makeCompany(world)
      const [forSale] = [...server.orderableNumbers]
      const { number } = await buyNumberForId(world, company, forSale)
      await world.operate("wait")
      const phone = newPhoneNumber()
      /** Sends them a text, and answers its id and how Telnyx has it. */
      const send = async () => {
        const sent = await postText(world, company.key, { from: number, to: phone })
        if (sent.status >= 300) throw new Error(JSON.stringify(sent.body))
        await world.operate("wait")
        const kept = server.messages.findLast((one) => one.to === phone)
        if (kept === undefined) throw new Error("Telnyx has no text")
        return { textId: sent.body.id as string, kept }
      }
      /** The types of the facts about them. */
      const facts = () => recipientFactTypes(world, company.companyId, phone)
      return { ...company, number, phone, send, facts }
    },
    close: async () => {
      await world.close()
      await server.close()
    },
  }
}
