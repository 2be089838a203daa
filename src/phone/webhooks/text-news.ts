/** How a text stands that was handed over, as the carrier tells it by itself. */
import type { CarrierEvent } from "../../../adapters/providers/carrier/port.ts"
import type { CompanyId } from "../../../domain/kernel/ids.ts"
import { parseMessageId } from "../../../domain/phone/ids.ts"
import { recipientOf } from "../../../domain/phone/aggregates.ts"
import { findMessage, messageOf } from "../../../projections/phone/message-lists.ts"
import { holderOf } from "../../../projections/phone/numbers.ts"
import type { Cause } from "../../frame/kernel/envelope.ts"
import type { Ports } from "../../frame/ports.ts"
import { reportDelivery } from "../reactions/report-delivery.ts"
import { recordText, settleText } from "../texts.ts"

/** News of a text. */
export type TextNews = Extract<CarrierEvent, { readonly is: "text_news" }>

/** Whose text it is; null where it is nobody's, or did not go from and to these numbers. */
export async function companyOfText(
  { readAll }: Pick<Ports, "readAll">,
  { textId, from, to }: TextNews,
): Promise<CompanyId | null> {
  const messageId = parseMessageId(textId)
  if (messageId === null) return null
  // Its number is its company's, mostly still; a text of a number that was let go is looked for by its id.
  const holder = await holderOf(readAll, from)
  const companyId = holder?.company_id ?? (await findMessage(readAll, messageId))?.company_id
  if (companyId === undefined) return null
  const text = await messageOf(readAll, companyId, messageId)
  const isIt = text?.direction === "out" && text.from_number === from && text.to_number === to
  return isIt ? companyId : null
}

/** Records the news, and ends the text's charge where they end it. */
export async function takeNews(
  ports: Ports,
  companyId: CompanyId,
  { textId, to, news }: TextNews,
  cause: Cause,
): Promise<void> {
  const messageId = parseMessageId(textId)
  if (messageId === null) return
  const { carrierId } = news
  const place = async () => {
    const tag = await ports.sealing.tag(companyId, to)
    return { companyId, messageId, tag, recipient: recipientOf(companyId, tag) }
  }
  if (news.answer === "accepted") {
    const text = await place()
    const command = { type: "AcceptText" as const, messageId, carrierId }
    const known = await recordText(ports, text, command, cause)
    if (known !== null) await settleText(ports, text, known, cause)
    return
  }
  const errorCode = news.answer === "undelivered" ? news.errorCode : null
  if (errorCode === "opted_out") {
    // A text that nobody had taken yet is given back; of one that was, this says how it ended.
    const text = await place()
    const phone = await ports.sealing.seal(companyId, text.tag, to)
    const known = await recordText(ports, text, { type: "StopAtCarrier", messageId, phone }, cause)
    if (known?.status === "rejected") await settleText(ports, text, known, cause)
  }
  await reportDelivery(ports, { companyId, to, messageId }, { carrierId, errorCode }, cause)
}
