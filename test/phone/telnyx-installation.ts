/** An installation whose carrier is a simulated Telnyx server, and the Telnyx account that signs notifications. */
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

/** Path of notifications about received texts. */
export const INCOMING_TEXTS_PATH = "/carriers/telnyx/texts"

/** An event in Telnyx's format. */
export const newTelnyxEvent = (type: string, payload: object, id: string = randomUUID()) => ({
  data: { record_type: "event", id, event_type: type, occurred_at: "2026-11-25", payload },
})

/** The event of a received text. */
export const incomingTextEvent = (message: TelnyxServerMessage, more: object = {}, id?: string) =>
  newTelnyxEvent("message.received", { ...telnyxMessageBody(message), ...more }, id)

/** The event of a text's new status. */
export function textStatusEvent(
  message: TelnyxServerMessage,
  status: string,
  code?: string,
): object {
  const errors = code === undefined ? [] : [{ code, title: "It failed" }]
  const type = status === "sent" ? "message.sent" : "message.finalized"
  return newTelnyxEvent(type, { ...telnyxMessageBody({ ...message, status }), errors })
}

/** Path of status notifications about a text. */
export const webhookPathOf = ({ webhookUrl }: TelnyxServerMessage): string =>
  new URL(webhookUrl ?? "http://x").pathname

/** The installation with its Telnyx server and account. */
export type TelnyxInstallation = Awaited<ReturnType<typeof openTelnyxInstallation>>

/** A company with a Telnyx number, and a recipient of its texts. */
export type TelnyxTextingCompany = Awaited<ReturnType<TelnyxInstallation["makeTextingCompany"]>>

/** Opens an installation with a Telnyx server. */
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
    /** Posts a notification with these bytes and headers. */
    post,
    /** Posts a notification that the account signs now. */
    notify: (path: string, event: object) => {
      const raw = JSON.stringify(event)
      return post(path, raw, account.headersOf(raw, now()))
    },
    makeTextingCompany: async () => {
      const company = await makeCompany(world)
      const [forSale] = [...server.orderableNumbers]
      const { number } = await buyNumberForId(world, company, forSale)
      await world.operate("wait")
      const phone = newPhoneNumber()
      /** Sends the recipient a text, and returns its ID and Telnyx's message. */
      const send = async () => {
        const sent = await postText(world, company.key, { from: number, to: phone })
        if (sent.status >= 300) throw new Error(JSON.stringify(sent.body))
        await world.operate("wait")
        const message = server.messages.findLast((one) => one.to === phone)
        if (message === undefined) throw new Error("Telnyx has no text")
        return { textId: sent.body.id as string, message }
      }
      const facts = () => recipientFactTypes(world, company.companyId, phone)
      return { ...company, number, phone, send, facts }
    },
    close: async () => {
      await world.close()
      await server.close()
    },
  }
}
