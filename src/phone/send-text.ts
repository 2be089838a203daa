/** `POST /api/v1/phone/messages`: charge, queue, answer; `text-effect.ts` hands it to the carrier. */
import { z } from "zod"
import { phoneOf, recipientOf } from "../../domain/phone/aggregates.ts"
import { isDestinationOn } from "../../domain/phone/phone-views.ts"
import type { TextQueued } from "../../domain/phone/recipient-events.ts"
import { isOptedOut, standingOf, textOf } from "../../domain/phone/recipient.ts"
import { resourceAt } from "../../domain/kernel/resource.ts"
import { withOptOutLine } from "../../domain/phone/texting-rules.ts"
import { causeOf } from "../frame/routes/call.ts"
import { refusal } from "../frame/routes/answers/refusal.ts"
import { RATE_LIMITS } from "../frame/routes/checks/rate-limits.ts"
import type { Checked } from "../frame/routes/declare/route.ts"
import { route } from "../frame/routes/declare/route.ts"
import { charged } from "../frame/effects/charged.ts"
import { textableNumber, filledText, idOf, shortText } from "../frame/kernel/schema.ts"
import { sendingNumber } from "../registration/sending-number.ts"
import { knownNumber } from "./numbers.ts"
import type { Draft, PreparedToSend } from "./text-draft.ts"
import { priceText } from "./text-draft.ts"
import { TEXT_PREFIX, queuedText } from "./texts.ts"

const SendText = z.object({
  to: textableNumber.describe("Full phone number of the recipient"),
  body: filledText(1_600).describe("What it says"),
  from: shortText(64).optional().meta({
    description: "One of the company's texting numbers or its id; default the first",
  }),
})

const TextReply = z.object({
  id: idOf("the text"),
  status: z.literal("queued").describe("It is handed to the carrier next"),
  from: z.string().describe("The company's number that it is sent from"),
  to: z.string().describe("The recipient's number"),
  body: z.string().describe("What it says, with the opt-out line where that was added"),
})

const BAD_NUMBER =
  "This number cannot be texted: give a full mobile number of a country that is switched on, such as the US or Canada."
const NO_NUMBER = "The company keeps no such number that can send texts."
const UNPAID =
  "The rent of this number is not paid, so nothing goes out from it; it is asked for again each day."
const UNREGISTERED =
  "This number is not registered for texting: GET /api/v1/phone/registration says what is missing. One that carriers refused can be released for another."
/** Why no number can be sent from. */
const NOT_FROM = { none: NO_NUMBER, unpaid: UNPAID, unregistered: UNREGISTERED } as const
const OPTED_OUT = "This person has opted out and may not be texted."

const replyOf = (id: string, from: string, { to }: Draft, body: string) =>
  ({ id, status: "queued", from, to, body }) as const

const text = charged<
  Checked<z.infer<typeof SendText>>,
  Draft,
  PreparedToSend,
  z.infer<typeof TextReply>,
  typeof TEXT_PREFIX
>({
  prefix: TEXT_PREFIX,
  undone: "the text could not be queued",
  draft: async ({ runner, sealing }, { companyId }, { body: { to: asked, body, from = null } }) => {
    const { number: to, country } = asked
    const isOn = await runner.read(phoneOf(companyId), (state) => isDestinationOn(state, country))
    if (!isOn) return { refusal: refusal("bad_number", BAD_NUMBER) }
    const tag = await sealing.tag(companyId, to)
    return { companyId, to, country, tag, recipient: recipientOf(companyId, tag), body, from }
  },
  prepare: async (ports, draft) => {
    const from = await sendingNumber(ports, draft.companyId, draft.from)
    if (typeof from === "string") return { refusal: refusal("no_number", NOT_FROM[from]) }
    return { from, ...(await priceText(ports, draft)) }
  },
  price: async ({ runner }, { recipient }, { asWritten, withLine, price }) => {
    const standing = await runner.read(recipient, standingOf)
    if (isOptedOut(standing)) return { refusal: refusal("opted_out", OPTED_OUT) }
    const isFirst = standing.firstMessageId === null
    const { segments, amountMicros } = isFirst && withLine !== null ? withLine : asWritten
    return { item: "text_segment", quantity: segments, ...price, amountMicros }
  },
  resource: ({ tag }, id) => resourceAt(id, tag),
  intend: async ({ runner, sealing }, caller, draft, prepared, paid) => {
    const { companyId, tag, recipient, to } = draft
    const { from, asWritten, withLine } = prepared
    const { id: messageId, chargeId, chargedMicros } = paid
    const { keyId, personId } = caller.spender
    const queued = await runner.execute(
      recipient,
      {
        type: "QueueText",
        messageId,
        chargeId,
        chargedMicros,
        numberId: from.numberId,
        to: await sealing.seal(companyId, tag, to),
        asWritten,
        withLine,
        keyId,
        personId,
      },
      causeOf(caller),
    )
    if (!queued.accepted) {
      // Else it was abandoned meanwhile, or is a first text by now that was charged without its line.
      const isOut = queued.refusal.code === "opted_out"
      return isOut ? { refusal: refusal("opted_out", OPTED_OUT) } : "again"
    }
    const fact = queued.facts[0] as TextQueued | undefined
    // It was queued before.
    if (fact === undefined) return "found"
    const body = fact.lineAdded ? withOptOutLine(draft.body) : draft.body
    return { reply: replyOf(messageId, from.number, draft, body), position: queued.position }
  },
  begun: async ({ runner }, { recipient }, messageId) => {
    const known = await runner.read(recipient, (state) => textOf(state, messageId))
    if (known === null) return "no"
    return known.status === "abandoned" || known.status === "rejected" ? "undone" : "yes"
  },
  reply: async (ports, draft, messageId) => {
    const { companyId, recipient } = draft
    const { fact, position } = await queuedText(ports, { recipient, messageId })
    const from = (await knownNumber(ports, companyId, fact.numberId))?.number ?? ""
    const body = (await ports.sealing.open(companyId, fact.body)) ?? ""
    return { reply: replyOf(messageId, from, draft, body), position }
  },
})

/** The route. */
export const sendText = route({
  name: "sendText",
  method: "POST",
  url: "/api/v1/phone/messages",
  group: "phone",
  summary: "Send a text",
  example: { body: { to: "+14155557778", body: "Hello" } },
  operation: "phone.messages.send",
  counted: true,
  limit: RATE_LIMITS.paid,
  account: "managed",
  body: SendText,
  reply: TextReply,
  named: { to: { code: "bad_number", message: BAD_NUMBER } },
  refuses: ["bad_number", "no_number", "opted_out", "spend_limit_reached", "payment_required"],
  specGap: "The specification does not show the verb: POST, because it creates a text.",
  ...text,
})
