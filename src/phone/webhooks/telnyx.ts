/** Telnyx webhooks: an event becomes commands before it is acknowledged; otherwise Telnyx sends it again. */
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

type TextUpdate = Extract<CarrierEvent, { readonly type: "text_news" }>

/** Telnyx waits 2 s for an answer. */
const READ_MODELS_WAIT_MS = 1_500

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

/** Looks a company up again once the read models have caught up. @throws Unavailable if they do not in time */
async function findCompanyCaughtUp(
  ports: Pick<Ports, "projector" | "store">,
  event: CarrierEvent,
  findCompanyId: () => Promise<CompanyId | null>,
): Promise<CompanyId | null> {
  const known = await findCompanyId()
  if (known !== null || event.type === "order_news") return known
  const head = await ports.store.head()
  const isCaughtUp = await ports.projector.waitUntilWritten(head, READ_MODELS_WAIT_MS, [
    "numbers",
    "messages",
  ])
  if (!isCaughtUp) throw new Unavailable("the read models of texts are behind")
  return findCompanyId()
}

/** Webhooks for incoming texts and events without an own address, and for the status of each outgoing text. */
export const telnyxTextWebhooks = [
  webhook<CarrierEvent>({ provider: "telnyx", url: "/carriers/telnyx/texts", ...webhookHandlers }),
  webhook<CarrierEvent>({
    provider: "telnyxText",
    url: "/carriers/telnyx/texts/:textId/:mac",
    ...webhookHandlers,
  }),
]

/** The company of an outgoing text; null if none has it, or its numbers differ from these. */
async function findCompanyOfText(
  { readAll }: Pick<Ports, "readAll">,
  { textId, from, to }: TextUpdate,
): Promise<CompanyId | null> {
  const messageId = parseMessageId(textId)
  if (messageId === null) return null
  // A text of a released number is found by its id instead.
  const holder = await findHolderOfNumber(readAll, from)
  const companyId = holder?.company_id ?? (await findMessage(readAll, messageId))?.company_id
  if (companyId === undefined) return null
  const sent = await findCompanyMessage(readAll, companyId, messageId)
  const isSameText = sent?.direction === "out" && sent.from_number === from && sent.to_number === to
  return isSameText ? companyId : null
}

/** Records a status change, and settles the text's charge if the status is final. */
async function applyTextUpdate(
  ports: Ports,
  companyId: CompanyId,
  { textId, to, status }: TextUpdate,
  cause: Cause,
): Promise<void> {
  const messageId = parseMessageId(textId)
  if (messageId === null) return
  const { carrierId } = status
  const locate = async () => {
    const tag = await ports.sealing.tag(companyId, to)
    return { tag, at: textReference(recipientStreamOf(companyId, tag), messageId) }
  }
  if (status.answer === "accepted") {
    const { at } = await locate()
    const command = { type: "AcceptText" as const, messageId, carrierId }
    await paidText.conclude(ports, companyId, at, command, cause)
    return
  }
  const errorCode = status.answer === "undelivered" ? status.errorCode : null
  if (errorCode === "opted_out") {
    // A text that the carrier had not accepted is refunded; an accepted one is settled by this report.
    const { tag, at } = await locate()
    const phone = await ports.sealing.seal(companyId, tag, to)
    const command = { type: "RecordCarrierOptOut" as const, messageId, phone }
    await paidText.conclude(ports, companyId, at, command, cause)
  }
  await reportDelivery(ports, { companyId, to, messageId }, { carrierId, errorCode }, cause)
}
