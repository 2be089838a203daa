/** `POST /api/v1/phone/buy`: charge a month, order, wait for the carrier; `buy-effect.ts` buys. */
import { z } from "zod"
import { COMPANY_SUBJECT } from "../../adapters/sealing/port.ts"
import { phoneOf } from "../../domain/phone/aggregates.ts"
import type { CompanyId } from "../../domain/kernel/ids.ts"
import type { NumberId } from "../../domain/phone/ids.ts"
import type { OrderFailure } from "../../domain/phone/phone-events.ts"
import { holdsTag, orderOf, ordersEnded } from "../../domain/phone/phone-views.ts"
import { causeOf } from "../frame/routes/call.ts"
import { RATE_LIMITS } from "../frame/routes/checks/rate-limits.ts"
import type { Refusal } from "../frame/routes/answers/refusal.ts"
import { refusal } from "../frame/routes/answers/refusal.ts"
import type { Checked } from "../frame/routes/declare/route.ts"
import { route } from "../frame/routes/declare/route.ts"
import { charged } from "../frame/effects/charged.ts"
import type { Outcome, Price } from "../frame/effects/charged-spec.ts"
import { priceOfOne } from "../frame/effects/price-of-one.ts"
import { shortText } from "../frame/kernel/schema.ts"
import type { Ports } from "../frame/ports.ts"
import { PhoneNumber, numberAnswer } from "./number-record.ts"
import { BUY_NUMBER, NUMBER_PREFIX, chargeOf } from "./reactions/buy-effect.ts"

const NUMBER = /^\+1[2-9]\d{2}[2-9]\d{6}$/
/** The area codes of toll-free numbers. */
const TOLL_FREE = /^\+18(?:00|33|44|55|66|77|88)/
/** A carrier's ten seconds, and what stands around them. */
const WITHIN_MS = 12_000

const BuyNumber = z.object({
  number: z
    .string()
    .regex(NUMBER, "Must be +1 and ten digits, as a search shows it.")
    .describe("One that a search showed: `+1` and ten digits"),
  locality: shortText(100)
    .nullish()
    .meta({ description: "Its town, where the carrier does not say it" }),
  region: z
    .string()
    .regex(/^[A-Za-z]{2}$/, "Must be two letters.")
    .transform((text) => text.toUpperCase())
    .nullish()
    .meta({ description: "Its state, where the carrier does not say it" }),
})

const BuyReply = z.object({ number: PhoneNumber.describe("The number, the company's from now on") })
type BuyReply = z.infer<typeof BuyReply>

interface Draft {
  readonly companyId: CompanyId
  readonly number: string
  readonly kind: "local" | "toll_free"
  readonly locality: string | null
  readonly region: string | null
  readonly tag: string
}

const TAKEN =
  "This number cannot be had: it was sold, or the company has it. Search for another one."
const AWAY =
  "The carrier did not sell it now; nothing was charged. Send it again, or take another one."

function refusalOf(reason: OrderFailure): Refusal {
  if (reason === "taken") return refusal("conflict", TAKEN)
  return { ...refusal("unavailable", AWAY), headers: { "retry-after": "5" } }
}

const bought = charged<
  Checked<z.infer<typeof BuyNumber>>,
  Draft,
  Price,
  BuyReply,
  typeof NUMBER_PREFIX
>({
  prefix: NUMBER_PREFIX,
  chargeId: chargeOf,
  undone: "the number could not be ordered",
  one: async ({ runner }, { companyId }) =>
    String(await runner.read(phoneOf(companyId), ordersEnded)),
  draft: async ({ sealing }, { companyId }, { body }) => {
    const { number, locality = null, region = null } = body
    const kind = TOLL_FREE.test(number) ? "toll_free" : "local"
    const tag = await sealing.tag(companyId, number)
    return { companyId, number, kind, locality, region, tag }
  },
  prepare: async (ports, { companyId, kind, tag }) => {
    const isHeld = await ports.runner.read(phoneOf(companyId), (state) => holdsTag(state, tag))
    if (isHeld) return { refusal: refusal("conflict", TAKEN) }
    return priceOfOne(ports, `number_month_${kind}`)
  },
  price: async (_ports, _draft, price) => price,
  resource: (_draft, id) => id,
  intend: async ({ runner, sealing }, caller, draft, price, { id: numberId, chargeId }) => {
    const { companyId, number, kind, locality, region, tag: numberTag } = draft
    const { keyId, personId } = caller.spender
    const seal = (text: string) => sealing.seal(companyId, COMPANY_SUBJECT, text)
    const ordered = await runner.execute(
      phoneOf(companyId),
      {
        type: "OrderNumber",
        numberId,
        numberTag,
        kind,
        region,
        chargeId,
        monthlyMicros: price.unitPriceMicros,
        keyId,
        personId,
        number: await seal(number),
        givenLocality: locality === null ? null : await seal(locality),
      },
      causeOf(caller),
    )
    if (ordered.accepted) return "found"
    // Else this attempt was given back meanwhile.
    const isTaken = ordered.refusal.code === "number_taken"
    return isTaken ? { refusal: refusal("conflict", TAKEN) } : "again"
  },
  begun: async ({ runner }, { companyId }, numberId) => {
    const known = await runner.read(phoneOf(companyId), (state) => orderOf(state, numberId))
    if (known === null) return "no"
    return known.is === "failed" ? "undone" : "yes"
  },
  reply: async () => {
    // What is awaited answers by its outcome.
    throw new Error("an order of a number is answered once the carrier has")
  },
  awaits: {
    withinMs: WITHIN_MS,
    work: ({ clock }, { companyId }, _draft, { id: numberId }) => ({
      kind: BUY_NUMBER,
      name: numberId,
      subject: numberId,
      companyId,
      payload: { numberId, orderedAt: clock.now() },
      dueAt: clock.now(),
    }),
    outcome: (ports, _caller, { companyId }, { id }) => outcomeOf(ports, companyId, id),
  },
})

/** What came of an order; null where nothing has yet. */
async function outcomeOf(
  ports: Ports,
  companyId: CompanyId,
  numberId: NumberId,
): Promise<Outcome<BuyReply> | null> {
  const view = (state: Parameters<typeof orderOf>[0]) => orderOf(state, numberId)
  const known = await ports.runner.readLatest(phoneOf(companyId), view)
  if (known === null || known.is === "open") return null
  if (known.is === "failed") return { refusal: refusalOf(known.reason) }
  const held = known.is === "held" ? await numberAnswer(ports, companyId, known.number) : null
  if (held !== null) return { reply: { number: held }, position: null }
  return { refusal: refusal("conflict", "This number was bought, and has been released since.") }
}

/** The route. */
export const buyNumber = route({
  name: "buyNumber",
  method: "POST",
  url: "/api/v1/phone/buy",
  group: "phone",
  summary: "Buy a number; its first month is charged now",
  example: { body: { number: "+14155550123" } },
  operation: "phone.numbers.buy",
  counted: true,
  limit: RATE_LIMITS.paid,
  account: "managed",
  body: BuyNumber,
  reply: BuyReply,
  success: [201],
  refuses: ["conflict", "unavailable", "spend_limit_reached", "payment_required"],
  says: { conflict: TAKEN, unavailable: AWAY },
  specGap:
    "The specification does not show the verb: POST, because it buys a number. `releasedUnlessPaidBy` is " +
    "beside its fields: until when a number is kept whose rent was refused. Identical requests at the same " +
    "time are one order and one charge.",
  ...bought,
})
