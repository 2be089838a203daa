/** `POST /api/v1/phone/buy`: buys a number and charges its first month; waits for the carrier. */
import type { NumberOrderAnswer } from "../../adapters/providers/carrier/port.ts"
import { providerResultOrNull } from "../../adapters/providers/provider-errors.ts"
import { COMPANY_SUBJECT } from "../../adapters/sealing/port.ts"
import type { CompanyId } from "../../domain/kernel/ids.ts"
import { PHONE_AGGREGATE, phoneStreamOf } from "../../domain/phone/aggregates.ts"
import type { NumberId } from "../../domain/phone/ids.ts"
import { parseNumberId } from "../../domain/phone/ids.ts"
import type { NumberOrderFailure } from "../../domain/phone/phone-events.ts"
import { hasNumberTag, numberOrderOf, countEndedOrders } from "../../domain/phone/phone-views.ts"
import { findHeldNumbers } from "../../projections/phone/numbers.ts"
import { effect } from "../frame/effects/effect.ts"
import { paidResource } from "../frame/effects/paid-resource.ts"
import { paidRoute } from "../frame/effects/paid-route.ts"
import { unitPrice } from "../frame/effects/price.ts"
import type { Cause } from "../frame/kernel/envelope.ts"
import { idSchema, boundedText } from "../frame/kernel/schema.ts"
import type { Ports } from "../frame/ports.ts"
import type { Refusal } from "../frame/routes/answers/refusal.ts"
import { refusal } from "../frame/routes/answers/refusal.ts"
import { RATE_LIMITS } from "../frame/routes/checks/rate-limits.ts"
import { PhoneNumber, phoneNumberReply } from "./number-reply.ts"
import { z } from "zod"

const NOT_BOUGHT = { amountMicros: null, reason: "the number could not be bought" }

const firstChargeIdOf = (numberId: string): string => `${numberId}:first`

const numberReference = (companyId: CompanyId, id: NumberId) => ({
  id,
  stream: phoneStreamOf(companyId),
})

const paidNumber = paidResource({
  prefix: "num",
  aggregate: PHONE_AGGREGATE,
  resolve: (companyId, resource) => {
    const id = parseNumberId(resource)
    return id === null ? null : numberReference(companyId, id)
  },
  view: (id) => (state) => {
    const known = numberOrderOf(state, id)
    if (known?.status === "failed" && known.reason === "abandoned") return "abandoned"
    return known === null ? null : { ...known, chargeId: firstChargeIdOf(id) }
  },
  status: ({ status, chargeId }) => {
    if (status === "failed") return { chargeId, charge: NOT_BOUGHT, isVoid: true }
    return { chargeId, charge: status === "open" ? "pending" : "settled", isVoid: false }
  },
  abandonCommand: (numberId) => ({
    type: "FailNumberOrder" as const,
    numberId,
    reason: "abandoned" as const,
  }),
  neverBegunReason: "the number was never ordered",
})

const STATUS_CHECK_INTERVAL_MS = 1_000
const STATUS_CHECK_ATTEMPTS = 8
const ORDER_TIMEOUT_MS = 10_000
/** After this long (from the order) the features that the carrier reports are final. */
const SETTLES_WITHIN_MS = 30 * 60_000
/** The carrier's webhook waits 2 s for our answer. */
const NOTIFIED_CHECK_TIMEOUT_MS = 1_500

const Order = z.object({ numberId: idSchema(parseNumberId), orderedAt: z.number() })
type Order = z.infer<typeof Order>

type Outcome =
  NumberOrderAnswer | { readonly answer: "failed"; readonly reason: NumberOrderFailure }
const DISCARDED: Outcome = { answer: "failed", reason: "discarded" }

const buyNumberJobs = effect({
  kind: "buy-number",
  checkKind: "ask-number",
  isAwaited: true,
  payload: Order,
  provider: "the carrier",
  label: "this number",
  missingReason: "no order exists for this number",
  timeoutMs: ORDER_TIMEOUT_MS,
  isDiscardedOnErasure: true,
  on: {
    NumberOrdered: ({ numberId, at }) => [
      { name: numberId, payload: { numberId, orderedAt: at }, dueAt: at },
    ],
  },
  startedAt: ({ orderedAt }) => orderedAt,
  checkStatus: (ports, { companyId, payload: { numberId } }, cause) =>
    paidNumber.checkStatus(ports, companyId, numberReference(companyId, numberId), cause),
  callProvider: async (ports, { companyId, payload: { numberId } }): Promise<Outcome> => {
    const order = await readPendingOrder(ports, companyId, numberId)
    if (order === null) return DISCARDED
    // Test numbers of companies here are unknown to a real carrier.
    const heldNumbers = await findHeldNumbers(ports.readAll, [order.number])
    if (heldNumbers.size > 0) return { answer: "taken" }
    let answer = await ports.carrier.buyNumber(order)
    for (let checks = 1; isOrderPending(answer) && checks < STATUS_CHECK_ATTEMPTS; checks += 1) {
      await ports.pacer.pause(STATUS_CHECK_INTERVAL_MS)
      // The carrier has the order. If it does not answer now, the order stays pending.
      const known = await providerResultOrNull(
        ports.pacer,
        "the carrier",
        ports.carrier.checkOrderStatus(order),
      )
      if (known !== null && known.answer !== "unknown") answer = known
    }
    return answer
  },
  checkProvider: async (ports, { companyId, payload: { numberId } }) => {
    const order = await readPendingOrder(ports, companyId, numberId)
    if (order === null) return DISCARDED
    const known = await ports.carrier.checkOrderStatus(order)
    return known.answer === "unknown" ? "unknown" : known
  },
  isIdempotent: ({ carrier }) => carrier.isIdempotent,
  recordOutcome: (ports, { companyId, payload: { numberId } }, answer, cause) =>
    concludeOrder(ports, { companyId, numberId }, answer, cause),
  // The caller learns of the failure immediately and may retry; we never buy the number later.
  unavailableOutcome: DISCARDED,
  times: { retryUnavailableForMs: 0 },
  notReceivedOutcome: async ({ carrier, clock }, { payload: { orderedAt } }) => {
    const isNo = clock.now() - orderedAt >= carrier.notReceivedAfterMs
    return isNo ? { answer: "failed" as const, reason: "not_at_carrier" as const } : null
  },
  discardedOutcome: DISCARDED,
})

const isOrderPending = ({ answer }: Outcome): boolean =>
  answer === "pending" || answer === "settling"

type FailedOutcome = Extract<Outcome, { readonly answer: "taken" | "failed" }>
const reasonOf = (answer: FailedOutcome): NumberOrderFailure =>
  answer.answer === "taken" ? "taken" : answer.reason

/** Whether an order is so young that the carrier may still add features to its number. */
async function canStillSettle(
  { runner, clock }: Pick<Ports, "clock" | "runner">,
  companyId: CompanyId,
  numberId: NumberId,
): Promise<boolean> {
  const known = await runner.read(phoneStreamOf(companyId), (state) =>
    numberOrderOf(state, numberId),
  )
  return known?.status === "open" && clock.now() - known.order.at < SETTLES_WITHIN_MS
}

/** Records the outcome of an order; false while the carrier is still working on it. */
async function concludeOrder(
  ports: Ports,
  { companyId, numberId }: { readonly companyId: CompanyId; readonly numberId: NumberId },
  answer: Outcome,
  cause: Cause,
): Promise<boolean> {
  if (answer.answer === "pending") return false
  if (answer.answer === "settling" && (await canStillSettle(ports, companyId, numberId)))
    return false
  const command =
    answer.answer === "bought" || answer.answer === "settling"
      ? { ...answer, type: "CompleteNumberOrder" as const, numberId }
      : { type: "FailNumberOrder" as const, numberId, reason: reasonOf(answer) }
  const at = numberReference(companyId, numberId)
  return (await paidNumber.conclude(ports, companyId, at, command, cause)).isSettled
}

/** Checks an order immediately, after the carrier reported a change; otherwise the order's job checks it. */
export async function checkOrderStatus(
  ports: Ports,
  of: { readonly companyId: CompanyId; readonly numberId: NumberId },
  cause: Cause,
): Promise<void> {
  const order = await readPendingOrder(ports, of.companyId, of.numberId)
  if (order === null) return
  const query = ports.carrier.checkOrderStatus(order)
  const known = await providerResultOrNull(
    ports.pacer,
    "the carrier",
    query,
    NOTIFIED_CHECK_TIMEOUT_MS,
  )
  if (known !== null && known.answer !== "unknown") await concludeOrder(ports, of, known, cause)
}

/** The order in the form that the carrier takes; null if it is not pending or the number was erased. */
async function readPendingOrder(
  ports: Pick<Ports, "runner" | "sealing">,
  companyId: CompanyId,
  numberId: NumberId,
) {
  const known = await ports.runner.read(phoneStreamOf(companyId), (state) =>
    numberOrderOf(state, numberId),
  )
  if (known?.status !== "open") return null
  const ordered = await ports.sealing.unseal(companyId, known.order.number)
  return ordered === null ? null : { orderId: numberId, companyId, number: ordered }
}

const NUMBER = /^\+1[2-9]\d{2}[2-9]\d{6}$/
const TOLL_FREE = /^\+18(?:00|33|44|55|66|77|88)/
/** The carrier's ten seconds, plus our own work. */
const REQUEST_TIMEOUT_MS = 12_000

const BuyNumber = z.object({
  number: z
    .string()
    .regex(NUMBER, "Must be +1 and ten digits, for example +14155550123.")
    .describe("A number from a search: `+1` and ten digits"),
  locality: boundedText(100)
    .nullish()
    .meta({ description: "Its town, if the carrier does not report one" }),
  region: z
    .string()
    .regex(/^[A-Za-z]{2}$/, "Must be two letters, such as CA.")
    .transform((text) => text.toUpperCase())
    .nullish()
    .meta({ description: "Its state, if the carrier does not report one" }),
})

const BuyReply = z.object({
  number: PhoneNumber.describe("The number, which the company now holds"),
})
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
  "This number is not available: it was sold, or your company already has it. Search for another one."
const CARRIER_UNAVAILABLE =
  "The carrier could not sell this number now; nothing was charged. Try again, or choose another number."

function refusalOf(reason: NumberOrderFailure): Refusal {
  if (reason === "taken") return refusal("conflict", TAKEN)
  return { ...refusal("unavailable", CARRIER_UNAVAILABLE), headers: { "retry-after": "5" } }
}

/** Buys a number and charges its first month. */
export const buyNumber = paidRoute({
  name: "buyNumber",
  method: "POST",
  url: "/api/v1/phone/buy",
  group: "phone",
  summary: "Buy a number and pay its first month",
  example: { body: { number: "+14155550123" } },
  operation: "phone.numbers.buy",
  isCounted: true,
  rateLimit: RATE_LIMITS.paid,
  accountRequirement: "managed",
  body: BuyNumber,
  reply: BuyReply,
  statuses: [201],
  refusalCodes: ["conflict", "unavailable"],
  refusalMessages: { conflict: TAKEN, unavailable: CARRIER_UNAVAILABLE },
  specGap:
    "The specification does not show the method: POST, because it buys a number. `releasedUnlessPaidBy` is " +
    "an additional field: the time at which a number with refused rent is released. Identical requests at the same " +
    "time are one order and one charge.",

  paidResource: paidNumber,
  jobs: buyNumberJobs,
  chargeId: firstChargeIdOf,
  refundReason: "the number could not be ordered",
  draft: async ({ sealing }, { companyId }, { body }): Promise<Draft> => {
    const { number, locality = null, region = null } = body
    const kind = TOLL_FREE.test(number) ? "toll_free" : "local"
    const tag = await sealing.tag(companyId, number)
    return { companyId, number, kind, locality, region, tag }
  },
  shared: async ({ runner }, { companyId }) =>
    String(await runner.read(phoneStreamOf(companyId), countEndedOrders)),
  prepare: async (ports, { companyId, kind, tag }) => {
    const isHeld = await ports.runner.read(phoneStreamOf(companyId), (state) =>
      hasNumberTag(state, tag),
    )
    if (isHeld) return { refusal: refusal("conflict", TAKEN) }
    return unitPrice(ports, `number_month_${kind}`)
  },
  price: async (_ports, _draft, price) => price,
  command: async ({ sealing }, { spender }, draft, { id: numberId, chargeId }, price) => {
    const { companyId, kind, locality, region, tag: numberTag } = draft
    const seal = (text: string) => sealing.seal(companyId, COMPANY_SUBJECT, text)
    return {
      type: "OrderNumber" as const,
      numberId,
      numberTag,
      kind,
      region,
      chargeId,
      monthlyMicros: price.unitPriceMicros,
      keyId: spender.keyId,
      personId: spender.personId,
      number: await seal(draft.number),
      givenLocality: locality === null ? null : await seal(locality),
    }
  },
  // Any other refusal: this attempt was refunded in the meantime.
  toRefusal: ({ code }) => (code === "number_taken" ? refusal("conflict", TAKEN) : null),
  outcomeWait: {
    timeoutMs: REQUEST_TIMEOUT_MS,
    payload: (numberId, orderedAt) => ({ numberId, orderedAt }),
  },
  answer: async (ports, { companyId }, _id, { view }) => {
    if (view.status === "open") return null
    if (view.status === "failed") return { refusal: refusalOf(view.reason) }
    const held =
      view.status === "held" ? await phoneNumberReply(ports, companyId, view.number) : null
    if (held !== null) return { reply: { number: held } }
    const message =
      "This number was bought and has since been released. Buy another one with a new Idempotency-Key."
    return { refusal: refusal("conflict", message) }
  },
})
