/** Taking in a text that somebody sent to a number of a company. */
import { recipientOf } from "../../domain/phone/aggregates.ts"
import type { CompanyId } from "../../domain/kernel/ids.ts"
import type { MessageId, NumberId } from "../../domain/phone/ids.ts"
import type { Keyword } from "../../domain/phone/texting-rules.ts"
import { keywordForm, keywordOf } from "../../domain/phone/texting-rules.ts"
import { segmentsOf } from "../../domain/phone/segments.ts"
import { derivedId } from "../frame/kernel/ids.ts"
import type { Cause } from "../frame/kernel/envelope.ts"
import type { Ports } from "../frame/ports.ts"
import { textingRulesAt } from "./texting-rules.ts"
import type { CameText } from "../../adapters/providers/carrier/port.ts"
import type { holderOf } from "../../projections/phone/numbers.ts"

/** A text that came. Numbers in E.164. */
export interface IncomingText {
  readonly companyId: CompanyId
  readonly messageId: MessageId
  readonly numberId: NumberId
  readonly from: string
  readonly body: string
  /** How many pictures and other files came with it. */
  readonly media: number
  /** Whether the carrier answered it itself: then nothing is sent. */
  readonly isAnswered: boolean
}

/** Records a text once, what it asks for, and the free reply to that; answers the keyword that it is. */
export async function receiveText(
  ports: Pick<Ports, "runner" | "sealing">,
  { companyId, messageId, numberId, from, body, media, isAnswered }: IncomingText,
  cause: Cause,
): Promise<Keyword | null> {
  const { runner, sealing } = ports
  const tag = await sealing.tag(companyId, from)
  const seal = (text: string) => sealing.seal(companyId, tag, text)
  const rules = await textingRulesAt(ports, companyId, numberId)
  const keyword = keywordOf(body, rules.extraOptOutWords)
  const says = { stop: rules.optOutReply, start: rules.optInReply, help: rules.helpReply }
  const text = keyword === null || isAnswered ? null : says[keyword]
  const reply =
    text === null
      ? null
      : {
          messageId: derivedId("msg", messageId, "reply"),
          body: await seal(text),
          segments: segmentsOf(text),
        }
  await runner.execute(
    recipientOf(companyId, tag),
    {
      type: "ReceiveText",
      messageId,
      numberId,
      media,
      keyword,
      reply,
      from: await seal(from),
      body: await seal(body),
      word: keyword === null ? "" : keywordForm(body),
    },
    cause,
  )
  return keyword
}

/** Who holds a number. */
export type Holder = NonNullable<Awaited<ReturnType<typeof holderOf>>>

/**
 * The id of a text that came: the carrier's own makes it, so that a second notification changes nothing. A
 * group text has an id for each number that it came to.
 */
export function cameId({
  carrierId,
  isOfGroup,
  to,
}: Pick<CameText, "carrierId" | "isOfGroup" | "to">): MessageId {
  return isOfGroup
    ? derivedId("msg", "carrier", carrierId, to)
    : derivedId("msg", "carrier", carrierId)
}

/** Takes a text in that came to a number of this holder; answers the keyword that it is. */
export function takeCame(
  ports: Pick<Ports, "runner" | "sealing">,
  { company_id: companyId, number_id: numberId }: Holder,
  came: CameText,
  cause: Cause,
): Promise<Keyword | null> {
  const { from, body, media, isAnswered } = came
  const messageId = cameId(came)
  const text = { companyId, messageId, numberId, from, body, media, isAnswered }
  return receiveText(ports, text, cause)
}
