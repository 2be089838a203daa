/**
 * What Telnyx calls back. Nothing is kept before it is decided: an event becomes commands, and whatever
 * could not be stored is answered so that it is told again.
 */
import type { CarrierEvent } from "../../../adapters/providers/carrier/port.ts"
import { Unavailable } from "../../../adapters/eventstore/port.ts"
import type { CompanyId } from "../../../domain/kernel/ids.ts"
import { parseCompanyId } from "../../../domain/kernel/ids.ts"
import { parseNumberId, parseMessageId } from "../../../domain/phone/ids.ts"
import { findHolderOfNumber } from "../../../projections/phone/numbers.ts"
import { headerValue } from "../../frame/routes/api-call.ts"
import type { WebhookSpec } from "../../frame/routes/declare/webhook.ts"
import { webhook } from "../../frame/routes/declare/webhook.ts"
import type { Ports } from "../../frame/ports.ts"
import { receiveCarrierText } from "../receive-text.ts"
import { checkOrderStatus } from "../buy-number.ts"
import { recipientStreamOf } from "../../../domain/phone/aggregates.ts"
import { findMessage, findCompanyMessage } from "../../../projections/phone/messages.ts"
import type { Cause } from "../../frame/kernel/envelope.ts"
import { reportDelivery } from "../reactions/report-delivery.ts"
import { paidText, textReference } from "../send-text.ts"

/** News of a text. */
type TextUpdate = Extract<CarrierEvent, { readonly type: "text_news" }>

/** Whoever tells waits for two seconds. */
const READ_MODELS_WAIT_MS = 1_500

/** What every address of it has in common. */
const webhookHandlers: Omit<WebhookSpec<CarrierEvent>, "provider" | "url"> = {
  verify: async (ports, raw, sent) => {
    const call = { target: sent.target, header: (name: string) => headerValue(sent, name), raw }
    const read = ports.carrier.readWebhook(call, ports.clock.now())
    if (read === "forged") return null
    const events = await Promise.all(
      read.events.map(async ({ id, event }) => {
        const companyId = await findCompanyCaughtUp(ports, event, () =>
          findCompanyOfEvent(ports, event),
        )
        return { id, companyId, event }
      }),
    )
    return { signedAt: read.signedAt, events }
  },
  handleEvent: async (ports, companyId, event, cause) => {
    switch (event.type) {
      case "text_came": {
        const holder = await findHolderOfNumber(ports.readAll, event.text.to)
        if (holder?.company_id === companyId)
          await receiveCarrierText(ports, holder, event.text, cause)
        return
      }
      case "text_news":
        return applyTextUpdate(ports, companyId, event, cause)
      case "order_news": {
        const numberId = parseNumberId(event.orderId)
        if (numberId !== null) await checkOrderStatus(ports, { companyId, numberId }, cause)
        return
      }
    }
  },
}

/** Whose an event is, by what the read models know now. */
async function findCompanyOfEvent(
  ports: Pick<Ports, "readAll">,
  event: CarrierEvent,
): Promise<CompanyId | null> {
  switch (event.type) {
    case "text_came":
      return (await findHolderOfNumber(ports.readAll, event.text.to))?.company_id ?? null
    case "text_news":
      return findCompanyOfText(ports, event)
    case "order_news":
      return parseCompanyId(event.companyId)
  }
}

/**
 * Whose an event is. A number and a text may be a second old: what nobody knows is looked for again once
 * the read models have taken everything up to now.
 *
 * @throws Unavailable where they have not in time: whoever tells must come again
 */
async function findCompanyCaughtUp(
  ports: Pick<Ports, "projector" | "store">,
  event: CarrierEvent,
  look: () => Promise<CompanyId | null>,
): Promise<CompanyId | null> {
  const known = await look()
  if (known !== null || event.type === "order_news") return known
  const head = await ports.store.head()
  const isThere = await ports.projector.waitUntilWritten(head, READ_MODELS_WAIT_MS, [
    "numbers",
    "messages",
  ])
  if (!isThere) throw new Unavailable("the read models of texts are behind")
  return look()
}

/** Texts that come in and whatever has no address of its own; and the news of each text that went out. */
export const telnyxTextWebhooks = [
  webhook<CarrierEvent>({ provider: "telnyx", url: "/carriers/telnyx/texts", ...webhookHandlers }),
  webhook<CarrierEvent>({
    provider: "telnyxText",
    url: "/carriers/telnyx/texts/:textId/:mac",
    ...webhookHandlers,
  }),
]

/** Whose text it is; null where it is nobody's, or did not go from and to these numbers. */
async function findCompanyOfText(
  { readAll }: Pick<Ports, "readAll">,
  { textId, from, to }: TextUpdate,
): Promise<CompanyId | null> {
  const messageId = parseMessageId(textId)
  if (messageId === null) return null
  // Its number is its company's, mostly still; a text of a number that was let go is looked for by its id.
  const holder = await findHolderOfNumber(readAll, from)
  const companyId = holder?.company_id ?? (await findMessage(readAll, messageId))?.company_id
  if (companyId === undefined) return null
  const sent = await findCompanyMessage(readAll, companyId, messageId)
  const isIt = sent?.direction === "out" && sent.from_number === from && sent.to_number === to
  return isIt ? companyId : null
}

/** Records the news, and ends the text's charge where they end it. */
async function applyTextUpdate(
  ports: Ports,
  companyId: CompanyId,
  { textId, to, status }: TextUpdate,
  cause: Cause,
): Promise<void> {
  const messageId = parseMessageId(textId)
  if (messageId === null) return
  const { carrierId } = status
  const place = async () => {
    const tag = await ports.sealing.tag(companyId, to)
    return { tag, at: textReference(recipientStreamOf(companyId, tag), messageId) }
  }
  if (status.answer === "accepted") {
    const { at } = await place()
    const command = { type: "AcceptText" as const, messageId, carrierId }
    await paidText.conclude(ports, companyId, at, command, cause)
    return
  }
  const errorCode = status.answer === "undelivered" ? status.errorCode : null
  if (errorCode === "opted_out") {
    // A text that the carrier had not accepted yet is refunded; one that it had ends by this news.
    const { tag, at } = await place()
    const phone = await ports.sealing.seal(companyId, tag, to)
    const command = { type: "RecordCarrierOptOut" as const, messageId, phone }
    await paidText.conclude(ports, companyId, at, command, cause)
  }
  await reportDelivery(ports, { companyId, to, messageId }, { carrierId, errorCode }, cause)
}
