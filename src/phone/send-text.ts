/** `POST /api/v1/phone/messages`: charge, queue, answer; a worker hands it to the carrier. */
import { RECIPIENT } from "../../domain/phone/aggregates.ts"
import { ledgerOf } from "../../domain/charging/aggregates.ts"
import { z } from "zod"
import type { ChargeRefused } from "../../domain/charging/ledger-events.ts"
import type { Micros } from "../../domain/kernel/money.ts"
import type { TextQueued } from "../../domain/phone/recipient-events.ts"
import type { QueueText } from "../../domain/phone/recipient.ts"
import { isOptedOut, standingOf, textOf } from "../../domain/phone/recipient.ts"
import { textResource } from "../../domain/phone/text-resource.ts"
import { withOptOutLine } from "../../domain/phone/texting-rules.ts"
import { ClaimLost } from "../../adapters/claims/port.ts"
import type { Position } from "../../adapters/eventstore/port.ts"
import type { Cause } from "../frame/kernel/envelope.ts"
import { causeOf } from "../frame/calls/caller-cause.ts"
import { lookUpCharge } from "../frame/effects/charges.ts"
import { chargeRefusal } from "../frame/calls/charge-refusals.ts"
import { payerOf } from "../frame/calls/payer.ts"
import { refusal } from "../frame/calls/refusal.ts"
import type { Caller, Checked, Reply, Resumed, Seed } from "../frame/calls/route.ts"
import { route } from "../frame/calls/route.ts"
import type { Ports } from "../frame/ports.ts"
import { OutcomeUnknown } from "../frame/writer/run.ts"
import { shortText } from "../frame/kernel/schema.ts"
import { textableNumber } from "./phone-number.ts"
import type { SendingNumber } from "./numbers.ts"
import { numberText, sendingNumber } from "./numbers.ts"
import { queuedText } from "./queued-text.ts"
import type { Draft, PricedText } from "./text-draft.ts"
import { draftText, idsOf, priceText } from "./text-draft.ts"

const SendText = z.object({
  to: shortText(40).meta({ description: "Full phone number of the recipient" }),
  body: shortText(1_600).refine((value) => value !== "", "Must not be empty."),
  from: shortText(64).optional().meta({
    description: "One of the company's texting numbers or its id; default the first",
  }),
})

const TextReply = z.object({
  id: z.string(),
  status: z.literal("queued"),
  from: z.string(),
  to: z.string(),
  body: z.string(),
})

type Input = Checked<z.infer<typeof SendText>>
type Answer = Reply<z.infer<typeof TextReply>>

/** The route. */
export const sendText = route({
  method: "POST",
  url: "/api/v1/phone/messages",
  group: "phone",
  summary: "Send a text",
  operation: "phone.messages.send",
  counted: true,
  limit: "paid",
  account: "managed",
  charged: true,
  body: SendText,
  reply: TextReply,
  refuses: ["bad_number", "no_number", "opted_out", "spend_limit_reached", "payment_required"],
  specGap: "The specification does not show the verb: POST, because it creates a text.",
  handle,
  resume,
})

/** The charge of this attempt was given back, and the next attempt is to begin. */
const AGAIN = Symbol("again")

async function handle(ports: Ports, caller: Caller, input: Input): Promise<Answer> {
  const { companyId } = caller
  const to = textableNumber(input.body.to)
  if (to === null) {
    return no("bad_number", "This number cannot be texted; give a full US or Canadian number.")
  }
  const from = await sendingNumber(ports, companyId, input.body.from ?? null)
  if (from === null) {
    return no("no_number", "The company keeps no such number that can send texts.")
  }
  let { seed } = input
  let draft = await draftText(ports, { companyId, to, body: input.body.body }, seed)
  for (;;) {
    const answer = await chargeAndQueue(ports, caller, draft, from)
    if (answer !== AGAIN) return answer
    seed = await seed.next()
    draft = { ...draft, ...idsOf(seed) }
  }
}

/** Finds what was done of this attempt before, and goes on from there. */
async function resume(
  ports: Ports,
  caller: Caller,
  input: Input,
): Promise<Resumed<z.infer<typeof TextReply>>> {
  const { companyId } = caller
  const { body, seed } = input
  const to = textableNumber(body.to)
  if (to === null) return { seed }
  const draft = await draftText(ports, { companyId, to, body: body.body }, seed)
  try {
    return await goOn(ports, caller, input, draft)
  } catch (error) {
    // Whoever had the claim before may have charged: until that is found out, all else is a doubt.
    throw error instanceof ClaimLost ? error : inDoubt(error, draft)
  }
}

/**
 * The recipient's stream is asked first: only a text that is not known there has a charge that
 * nobody ends in the meantime.
 */
async function goOn(
  ports: Ports,
  caller: Caller,
  { body, seed }: Input,
  draft: Draft,
): Promise<Resumed<z.infer<typeof TextReply>>> {
  const { companyId } = caller
  const text = await ports.runner.look({ aggregate: RECIPIENT, stream: draft.stream }, (state) =>
    textOf(state, draft.messageId),
  )
  if (text?.status === "abandoned" || text?.status === "rejected") return anew(seed)
  if (text !== null) return { reply: await replyOf(ports, draft, null) }
  const { row: charge } = await lookUpCharge(ports, companyId, draft.chargeId)
  // A closed charge paid for a text that went out, even where its recipient has forgotten it.
  if (charge?.state === "final") return { reply: await replyOf(ports, draft, null) }
  if (charge?.state === "given_back") return anew(seed)
  const from = await sendingNumber(ports, companyId, body.from ?? null)
  if (charge === null || from === null) return { seed }
  const texts = await priceText(ports, draft)
  const answer = await queueCharged(ports, caller, draft, from, texts, -charge.amount_micros)
  return answer === AGAIN ? anew(seed) : { reply: answer }
}

async function anew(seed: Seed): Promise<{ readonly seed: Seed }> {
  return { seed: await seed.next() }
}

/** Reads the recipient, charges, and queues. */
async function chargeAndQueue(
  ports: Ports,
  caller: Caller,
  draft: Draft,
  from: SendingNumber,
): Promise<Answer | typeof AGAIN> {
  const { companyId, chargeId } = draft
  const standing = await ports.runner.look(
    { aggregate: RECIPIENT, stream: draft.stream },
    standingOf,
  )
  if (isOptedOut(standing)) return optedOut()
  const texts = await priceText(ports, draft)
  const { withLine, asWritten } = texts
  const asked = standing.firstMessageId === null && withLine !== null ? withLine : asWritten
  const charged = await ports.runner
    .execute(
      ledgerOf(companyId),
      {
        type: "Charge",
        chargeId,
        ...caller.spender,
        class: "general",
        item: "text_segment",
        quantity: asked.segments,
        ...texts.price,
        amountMicros: asked.amountMicros,
        resource: textResource(draft.messageId, draft.recipient),
        requestedAt: ports.clock.now(),
        dueAt: null,
        servedFrom: null,
        open: true,
        exempt: null,
        searchedTo: null,
      },
      causeOf(caller),
    )
    .catch((error: unknown) => {
      throw error instanceof OutcomeUnknown ? inDoubt(error, draft) : error
    })
  if (!charged.accepted) {
    const refused = charged.refusal as ChargeRefused
    ports.keepRefusal(companyId, refused)
    const payer = await payerOf(ports, caller)
    return { ok: false, refusal: chargeRefusal(refused, payer) }
  }
  // Without a new fact it was charged before, perhaps for another form of it or at another price.
  const before =
    charged.facts.length > 0 ? null : (await lookUpCharge(ports, companyId, chargeId)).row
  const chargedMicros = before === null ? asked.amountMicros : -before.amount_micros
  return queueCharged(ports, caller, draft, from, texts, chargedMicros)
}

/**
 * Queues a text that is paid for; gives back what the recipient's stream refuses. Whatever goes
 * wrong here leaves an open charge, so it is a doubt and never a plain no.
 */
async function queueCharged(
  ports: Ports,
  caller: Caller,
  draft: Draft,
  from: SendingNumber,
  texts: PricedText,
  chargedMicros: Micros,
): Promise<Answer | typeof AGAIN> {
  const { companyId, recipient, stream, messageId, chargeId } = draft
  const { asWritten, withLine } = texts
  const cause = causeOf(caller)
  const { keyId, personId } = caller.spender
  try {
    const command: QueueText = {
      type: "QueueText",
      messageId,
      chargeId,
      chargedMicros,
      numberId: from.numberId,
      to: await ports.sealing.seal(companyId, recipient, draft.to),
      asWritten,
      withLine,
      keyId,
      personId,
    }
    const queued = await ports.runner.execute({ aggregate: RECIPIENT, stream }, command, cause)
    if (queued.accepted) return await replyOf(ports, draft, { ...queued, from, texts })
    const position = await giveBackAll(ports, draft, cause)
    // Else it was abandoned meanwhile, or is a first text by now that was charged without its line.
    return queued.refusal.code === "opted_out" ? { ...optedOut(), position } : AGAIN
  } catch (error) {
    throw inDoubt(error, draft)
  }
}

/** An error that says which charge to look for. */
function inDoubt(cause: unknown, { chargeId }: Draft): OutcomeUnknown {
  const message = `charge ${chargeId} may have been made, and its text may not be queued`
  return Object.assign(new OutcomeUnknown(message, { cause }), { chargeId })
}

/** What was just stored for a text, and what was sealed for it. */
interface Stored {
  readonly facts: readonly object[]
  readonly position: Position | null
  readonly from: SendingNumber
  readonly texts: PricedText
}

/** The answer, from the fact that queued the text: the one just stored, or the one found. */
async function replyOf(ports: Ports, draft: Draft, stored: Stored | null): Promise<Answer> {
  const { companyId, stream, messageId, to } = draft
  const reply = (from: string, body: string) => ({
    id: messageId,
    status: "queued" as const,
    ...{ from, to, body },
  })
  const fact = stored?.facts[0] as TextQueued | undefined
  if (stored !== null && fact !== undefined) {
    const { position, from, texts } = stored
    const isWithLine = fact.body === texts.withLine?.body
    const body = isWithLine ? withOptOutLine(draft.body) : draft.body
    return { ok: true, body: reply(from.number, body), position }
  }
  const { fact: queued, position } = await queuedText(ports, stream, messageId)
  const from = (await numberText(ports, companyId, queued.numberId)) ?? ""
  const body = (await ports.sealing.open(companyId, queued.body)) ?? ""
  return { ok: true, body: reply(from, body), position }
}

/** Gives the whole charge back; answers where that stands. */
async function giveBackAll(
  ports: Ports,
  { companyId, chargeId }: Draft,
  cause: Cause,
): Promise<Position | null> {
  const reason = "the text could not be queued"
  const ended = await ports.runner.execute(
    ledgerOf(companyId),
    { type: "GiveBack", chargeId, amountMicros: null, reason },
    cause,
  )
  return ended.accepted ? ended.position : null
}

function optedOut(): Answer {
  return no("opted_out", "This person has opted out and may not be texted.")
}

function no(error: Parameters<typeof refusal>[0], message: string): Answer {
  return { ok: false, refusal: refusal(error, message) }
}
