/** A text that the carrier tells of: whose it is, and taking it in under an id that it always has. */
import type { CameText } from "../../adapters/providers/carrier/port.ts"
import type { Keyword } from "../../domain/phone/texting-rules.ts"
import type { MessageId } from "../../domain/phone/ids.ts"
import type { holderOf } from "../../projections/phone/numbers.ts"
import { derivedId } from "../frame/kernel/ids.ts"
import type { Cause } from "../frame/kernel/envelope.ts"
import type { Ports } from "../frame/ports.ts"
import { receiveText } from "./receive-text.ts"

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
