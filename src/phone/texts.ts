/** A text message as its recipient's stream has it: how far it has come, and the end of its charge. */
import type { Position } from "../../adapters/eventstore/port.ts"
import type { CompanyId } from "../../domain/kernel/ids.ts"
import type { MessageId } from "../../domain/phone/ids.ts"
import type { StreamOf } from "../../domain/kernel/aggregate.ts"
import type { RECIPIENT } from "../../domain/phone/aggregates.ts"
import { recipientOf } from "../../domain/phone/aggregates.ts"
import type { TextQueued } from "../../domain/phone/recipient-events.ts"
import type { Recipient, RecipientCommand } from "../../domain/phone/recipient.ts"
import { textOf } from "../../domain/phone/recipient.ts"
import { parseTextResource } from "../../domain/phone/text-resource.ts"
import { endCharge } from "../frame/effects/charge-ends.ts"
import type { Reconciled } from "../frame/effects/reconcile.ts"
import type { Cause } from "../frame/kernel/envelope.ts"
import type { Ports } from "../frame/ports.ts"

/** What the charge of a text names begins with this. */
export const TEXT_PREFIX = "msg"

/** A text and the stream of its recipient. */
export interface TextPlace {
  readonly companyId: CompanyId
  readonly recipient: StreamOf<typeof RECIPIENT>
  readonly messageId: MessageId
}

/** What a text's recipient knows of it. */
export type TextKnown = ReturnType<typeof textOf>

/** How far a text has come; null where its recipient does not know it. */
export function lookAtText(
  { runner }: Ports,
  { recipient, messageId }: TextPlace,
): Promise<TextKnown> {
  return runner.read(recipient, (state) => textOf(state, messageId))
}

/** Records news of a text and answers how it stands after it. */
export async function recordText(
  { runner }: Ports,
  { recipient, messageId }: TextPlace,
  command: RecipientCommand,
  cause: Cause,
): Promise<TextKnown> {
  const view = (state: Recipient) => textOf(state, messageId)
  return (await runner.execute(recipient, command, cause, view)).view
}

/**
 * Closes the charge of a text that was sent, or gives back what was not earned: everything where the
 * carrier refused it, the opt-out line where it turned out not to be needed. False while it is
 * still queued.
 */
export async function settleText(
  ports: Ports,
  { companyId }: Pick<TextPlace, "companyId">,
  { status, chargeId, refundMicros }: NonNullable<TextKnown>,
  cause: Cause,
): Promise<boolean> {
  if (status === "queued") return false
  if (chargeId === null) return true
  const line = { amountMicros: refundMicros, reason: "the opt-out line was not needed" }
  const rejected = { amountMicros: null, reason: "the carrier refused the text" }
  const back = status === "rejected" ? rejected : refundMicros > 0 ? line : null
  await endCharge(ports, companyId, chargeId, back, cause)
  return true
}

/** What the reconciler does with the charge of a text. */
export const reconciledText: Reconciled = {
  prefix: TEXT_PREFIX,
  streamOf: (companyId, resource) => {
    const text = parseTextResource(resource)
    return text === null ? null : recipientOf(companyId, text.recipient).stream
  },
  neverBegun: "the text was never queued",
  abandon: async (ports, { companyId, resource }, cause) => {
    const text = parseTextResource(resource)
    if (text === null) throw new Error(`${resource} is no text`)
    const { messageId } = text
    const place = { companyId, recipient: recipientOf(companyId, text.recipient), messageId }
    const known = await recordText(ports, place, { type: "AbandonText", messageId }, cause)
    if (known === null || known.status === "abandoned") return "never begun"
    return (await settleText(ports, place, known, cause)) ? "ended" : "open"
  },
}

/**
 * The fact that queued a text, newest first.
 *
 * @throws Error when the stream has no such fact, which its state says it has
 */
export async function queuedText(
  { store, streams }: Ports,
  { recipient: { stream }, messageId }: Pick<TextPlace, "recipient" | "messageId">,
): Promise<{ readonly fact: TextQueued; readonly position: Position }> {
  for await (const page of store.read(stream, { direction: "backwards" })) {
    for (const stored of page) {
      if (stored.type !== "TextQueued") continue
      const { fact } = streams.recorded(stored)
      if (fact.type === "TextQueued" && fact.messageId === messageId) {
        return { fact, position: stored.position }
      }
    }
  }
  throw new Error(`stream ${stream} has no queued text ${messageId}`)
}
