/** Ending the charge of a text whose outcome is known. */
import { RECIPIENT } from "../../../domain/phone/aggregates.ts"
import { ledgerOf } from "../../../domain/charging/aggregates.ts"
import type { CompanyId, MessageId } from "../../../domain/kernel/ids.ts"
import type { Recipient, RecipientCommand } from "../../../domain/phone/recipient.ts"
import { textOf } from "../../../domain/phone/recipient.ts"
import type { Cause } from "../../frame/kernel/envelope.ts"
import type { Ports } from "../../frame/ports.ts"

/** A text and the stream of its recipient. */
export interface TextPlace {
  readonly companyId: CompanyId
  readonly stream: string
  readonly messageId: MessageId
}

/** What a text's recipient knows of it. */
export type TextKnown = ReturnType<typeof textOf>

/** How far a text has come; null where its recipient does not know it. */
export function lookAtText(ports: Ports, place: TextPlace): Promise<TextKnown> {
  return ports.runner.look({ aggregate: RECIPIENT, stream: place.stream }, (state) =>
    textOf(state, place.messageId),
  )
}

/** Records news of a text and answers how it stands after it. */
export async function recordText(
  ports: Ports,
  place: TextPlace,
  command: RecipientCommand,
  cause: Cause,
): Promise<TextKnown> {
  const view = (state: Recipient) => textOf(state, place.messageId)
  return (
    await ports.runner.execute({ aggregate: RECIPIENT, stream: place.stream }, command, cause, view)
  ).view
}

/**
 * Closes the charge of a text that was sent, or gives back what was not earned: everything where the
 * carrier refused it, the opt-out line where it turned out not to be needed. False while it is
 * still queued.
 */
export async function settleText(
  ports: Ports,
  place: TextPlace,
  text: NonNullable<TextKnown>,
  cause: Cause,
): Promise<boolean> {
  const { status, chargeId, giveBackMicros } = text
  if (status === "queued") return false
  if (chargeId === null) return true
  if (status === "rejected") {
    await giveBack(ports, place, chargeId, null, "the carrier refused the text", cause)
  } else if (giveBackMicros > 0) {
    const reason = "the opt-out line was not needed"
    await giveBack(ports, place, chargeId, giveBackMicros, reason, cause)
  } else {
    await ports.closeCharge(place.companyId, chargeId)
  }
  return true
}

/** Gives an open charge back, whole (null) or in part; one that has ended stays as it is. */
export async function giveBack(
  ports: Ports,
  place: Pick<TextPlace, "companyId">,
  chargeId: string,
  amountMicros: number | null,
  reason: string,
  cause: Cause,
): Promise<void> {
  const outcome = await ports.runner.execute(
    ledgerOf(place.companyId),
    { type: "GiveBack", chargeId, amountMicros, reason },
    cause,
  )
  if (!outcome.accepted) throw new Error(`charge ${chargeId} could not be given back`)
}
