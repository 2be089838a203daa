/** `POST /api/v1/phone/messages`: charge, queue, answer; a worker hands it to the carrier. */
import { z } from "zod"
import type { ChargeRefused } from "../../domain/charging/ledger-events.ts"
import { ledgerStream } from "../../domain/charging/ledger.ts"
import { PRICES_STREAM, priceOf } from "../../domain/charging/price-book.ts"
import type { ChargeId, MessageId, RecipientTag } from "../../domain/kernel/ids.ts"
import { saysStop } from "../../domain/phone/keywords.ts"
import type { TextQueued } from "../../domain/phone/recipient-events.ts"
import type { PreparedText, QueueText, Recipient } from "../../domain/phone/recipient.ts"
import { isOptedOut, recipientStream, standingOf, textOf } from "../../domain/phone/recipient.ts"
import { segmentsOf } from "../../domain/phone/segments.ts"
import { textResource } from "../../domain/phone/text-resource.ts"
import { DEFAULT_TEXTING_RULES, withOptOutLine } from "../../domain/phone/texting-rules.ts"
import { findCharge } from "../../projections/charges.ts"
import { LEDGER, PRICES, RECIPIENT } from "../aggregates.ts"
import type { Cause } from "../envelope.ts"
import { derivedId } from "../ids.ts"
import { chargeRefusal } from "../pipeline/charge-refusals.ts"
import { refusal } from "../pipeline/refusal.ts"
import type { Caller, Checked, Reply, Seed } from "../pipeline/route.ts"
import { route } from "../pipeline/route.ts"
import type { Ports } from "../ports.ts"
import { OutcomeUnknown } from "../run.ts"
import { shortText } from "../schema.ts"
import type { SendingNumber } from "./numbers.ts"
import { sendingNumber } from "./numbers.ts"
import { textableNumber } from "../phone-number.ts"
import { queuedText } from "./queued-text.ts"

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

type Input = Checked<z.infer<typeof SendText>, unknown>
type Answer = Reply<z.infer<typeof TextReply>>

/** The route. */
export const sendText = route<z.infer<typeof SendText>, unknown, z.infer<typeof TextReply>>({
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
})

/** Everything about a text that is known before money is asked for. */
interface Draft {
  readonly from: SendingNumber
  readonly to: string
  readonly recipient: RecipientTag
  readonly stream: string
  readonly messageId: MessageId
  readonly chargeId: ChargeId
}

async function handle(ports: Ports, caller: Caller, input: Input): Promise<Answer> {
  const to = textableNumber(input.body.to)
  if (to === null) {
    return no("bad_number", "This number cannot be texted; give a full US or Canadian number.")
  }
  const from = await sendingNumber(ports, caller.companyId, input.body.from ?? null)
  if (from === null) {
    return no("no_number", "The company keeps no such number that can send texts.")
  }
  const recipient = await ports.sealing.tag(caller.companyId, to)
  const stream = recipientStream(caller.companyId, recipient)
  return attempt(ports, caller, input.body.body, { from, to, recipient, stream }, input.seed)
}

/** One attempt; where the charge of an earlier one was given back, the next begins. */
async function attempt(
  ports: Ports,
  caller: Caller,
  body: string,
  target: Omit<Draft, "messageId" | "chargeId">,
  seed: Seed,
): Promise<Answer> {
  const draft: Draft = {
    ...target,
    messageId: derivedId("msg", ...seed.parts),
    chargeId: derivedId("chg", ...seed.parts),
  }
  if (seed.takenOver) {
    const before = await whatWasDone(ports, caller, draft)
    if (before.state === "queued") return before.answer
    if (before.state === "given_back") {
      return attempt(ports, caller, body, target, await seed.next())
    }
  }
  try {
    return await chargeAndQueue(ports, caller, body, draft)
  } catch (error) {
    // The caller is told which charge to look for.
    if (error instanceof OutcomeUnknown) Object.assign(error, { chargeId: draft.chargeId })
    throw error
  }
}

type Before =
  | { readonly state: "queued"; readonly answer: Answer }
  | { readonly state: "given_back" }
  | { readonly state: "nothing" }

/**
 * What a process that died did of this attempt. The recipient's stream is asked first: only a text
 * that is not known there has a charge that nobody else can end in the meantime.
 */
async function whatWasDone(ports: Ports, caller: Caller, draft: Draft): Promise<Before> {
  const text = await ports.runner.look(RECIPIENT, draft.stream, (state) =>
    textOf(state, draft.messageId),
  )
  if (text !== null && text.status !== "abandoned" && text.status !== "rejected") {
    const queued = await queuedText(ports, draft.stream, draft.messageId)
    return {
      state: "queued",
      answer: await replyOf(ports, caller, draft, queued.fact, queued.position),
    }
  }
  if (text !== null) return { state: "given_back" }
  await ports.projector.waitFor(await ports.store.head(), 2_000, ["charges"])
  const charge = await findCharge(ports.readAll, caller.companyId, draft.chargeId)
  return { state: charge?.state === "given_back" ? "given_back" : "nothing" }
}

/** Reads the recipient, charges, and queues; gives back what the recipient's stream refuses. */
async function chargeAndQueue(
  ports: Ports,
  caller: Caller,
  body: string,
  draft: Draft,
): Promise<Answer> {
  const standing = await ports.runner.look(RECIPIENT, draft.stream, standingOf)
  if (isOptedOut(standing)) return optedOut()
  const price = await ports.runner.look(PRICES, PRICES_STREAM, (state) =>
    priceOf(state, "text_segment"),
  )
  const wantsLine =
    DEFAULT_TEXTING_RULES.optOutLine && standing.firstMessageId === null && !saysStop(body)
  const asWritten = await prepare(ports, caller, draft, body, price.unitPriceMicros)
  const withLine = wantsLine
    ? await prepare(ports, caller, draft, withOptOutLine(body), price.unitPriceMicros)
    : null
  const { segments, amountMicros } = withLine ?? asWritten

  const cause = causeOf(caller)
  const charged = await ports.runner.execute(
    LEDGER,
    ledgerStream(caller.companyId),
    {
      type: "Charge",
      chargeId: draft.chargeId,
      ...caller.spender,
      class: "general",
      item: "text_segment",
      quantity: segments,
      ...price,
      amountMicros,
      resource: textResource(draft.messageId, draft.recipient),
      requestedAt: ports.clock.now(),
      dueAt: null,
      servedFrom: null,
      open: true,
      exempt: null,
    },
    { cause, view: () => undefined },
  )
  if (!charged.accepted) {
    return refuseCharge(ports, caller, charged.refusal as ChargeRefused)
  }
  const command: QueueText = {
    type: "QueueText",
    messageId: draft.messageId,
    chargeId: draft.chargeId,
    chargedMicros: amountMicros,
    numberId: draft.from.numberId,
    to: await ports.sealing.seal(caller.companyId, draft.recipient, draft.to),
    asWritten,
    withLine,
    keyId: caller.spender.keyId,
    personId: caller.spender.personId,
  }
  return queue(ports, caller, draft, command, cause)
}

async function queue(
  ports: Ports,
  caller: Caller,
  draft: Draft,
  command: QueueText,
  cause: Cause,
): Promise<Answer> {
  const queued = await ports.runner.execute(RECIPIENT, draft.stream, command, {
    cause,
    view: (_state: Recipient) => undefined,
  })
  if (!queued.accepted) {
    await giveBackAll(ports, caller, draft.chargeId, cause)
    if (queued.refusal.code === "opted_out") return optedOut()
    const message = "This text took too long and was given back; send it again."
    return no("unavailable", message)
  }
  const fact =
    (queued.facts[0] as TextQueued | undefined) ??
    (await queuedText(ports, draft.stream, draft.messageId)).fact
  return replyOf(ports, caller, draft, fact, queued.position)
}

async function prepare(
  ports: Ports,
  caller: Caller,
  draft: Draft,
  body: string,
  unitPriceMicros: number,
): Promise<PreparedText> {
  const segments = segmentsOf(body)
  return {
    body: await ports.sealing.seal(caller.companyId, draft.recipient, body),
    segments,
    amountMicros: segments * unitPriceMicros,
  }
}

async function replyOf(
  ports: Ports,
  caller: Caller,
  draft: Draft,
  fact: TextQueued,
  position: Extract<Answer, { ok: true }>["position"],
): Promise<Answer> {
  const { messageId: id } = fact
  const body = (await ports.sealing.open(caller.companyId, fact.body)) ?? ""
  const reply = { id, status: "queued" as const, from: draft.from.number, to: draft.to, body }
  return { ok: true, body: reply, position: position ?? null }
}

function refuseCharge(ports: Ports, caller: Caller, refused: ChargeRefused): Answer {
  ports.keepRefusal(caller.companyId, refused)
  return { ok: false, refusal: chargeRefusal(refused, caller, ports.baseUrl()) }
}

async function giveBackAll(
  ports: Ports,
  caller: Caller,
  chargeId: ChargeId,
  cause: Cause,
): Promise<void> {
  const reason = "the recipient opted out, or the text was abandoned, before it was queued"
  await ports.runner.execute(
    LEDGER,
    ledgerStream(caller.companyId),
    { type: "GiveBack", chargeId, amountMicros: null, reason },
    { cause, view: () => undefined },
  )
}

function causeOf(caller: Caller): Cause {
  const { requestId, spender } = caller
  const { keyId, personId } = spender
  return { command: requestId, actor: null, keyId, personId, reason: null }
}

function optedOut(): Answer {
  return no("opted_out", "This person has opted out and may not be texted.")
}

function no(error: Parameters<typeof refusal>[0], message: string): Answer {
  return { ok: false, refusal: refusal(error, message) }
}
