/** Having the carrier give an ordered number, and finding out what became of the order. */
import { z } from "zod"
import type { OrderAnswer } from "../../../adapters/providers/carrier/port.ts"
import { knownInTime } from "../../../adapters/providers/outside.ts"
import { phoneOf } from "../../../domain/phone/aggregates.ts"
import type { CompanyId } from "../../../domain/kernel/ids.ts"
import type { NumberId } from "../../../domain/phone/ids.ts"
import { parseNumberId } from "../../../domain/phone/ids.ts"
import type { OrderFailure } from "../../../domain/phone/phone-events.ts"
import { orderOf } from "../../../domain/phone/phone-views.ts"
import { holdersOf } from "../../../projections/phone/numbers.ts"
import { endCharge } from "../../frame/effects/charge-ends.ts"
import { effect } from "../../frame/effects/effect.ts"
import type { Reconciled } from "../../frame/effects/reconcile.ts"
import { idSchema } from "../../frame/kernel/schema.ts"
import type { Cause } from "../../frame/kernel/envelope.ts"
import type { Ports } from "../../frame/ports.ts"

/** The kind of its rows. */
export const BUY_NUMBER = "buy-number"
/** What the charge of a number names begins with this. */
export const NUMBER_PREFIX = "num"

/** A carrier that is still at it is asked again after a second each. */
const ASK_EVERY_MS = 1_000
const ASK_TIMES = 8
const WITHIN_MS = 10_000
/** After this long a number can do what the carrier says it can, milliseconds from the order. */
const SETTLES_WITHIN_MS = 30 * 60_000
/** Whoever tells of an order waits for two seconds. */
const NEWS_WITHIN_MS = 1_500

const Payload = z.object({ numberId: idSchema(parseNumberId), orderedAt: z.number() })
type Payload = z.infer<typeof Payload>

type Answer = OrderAnswer | { readonly answer: "failed"; readonly reason: OrderFailure }

/** The reactions that buy numbers. */
export const buyEffect = effect<Payload, Answer>({
  kind: BUY_NUMBER,
  askKind: "ask-number",
  payload: Payload,
  provider: "the carrier",
  about: "this number",
  unknownTo: "nobody ordered this number",
  withinMs: WITHIN_MS,
  endsWithCompany: true,
  from: {
    NumberOrdered: ({ numberId, at }) => [
      { name: numberId, payload: { numberId, orderedAt: at }, dueAt: at },
    ],
  },
  begunAt: ({ orderedAt }) => orderedAt,
  look: async (ports, { companyId, payload: { numberId } }, cause) =>
    settleOrder(ports, companyId, numberId, cause),
  act: async (ports, { companyId, payload: { numberId } }) => {
    const order = await orderAt(ports, companyId, numberId)
    if (order === null) return { answer: "failed", reason: "discarded" }
    // The test numbers of companies here are nothing that a carrier knows of.
    const held = await holdersOf(ports.readAll, [order.number])
    if (held.size > 0) return { answer: "taken" }
    let answer = await ports.carrier.buy(order)
    for (let asked = 1; isUnderWay(answer) && asked < ASK_TIMES; asked += 1) {
      await ports.pacer.pause(ASK_EVERY_MS)
      // The carrier has the order: where it does not answer, the order stays pending.
      const known = await knownInTime(ports.pacer, "the carrier", ports.carrier.askOrder(order))
      if (known !== null && known.answer !== "unknown") answer = known
    }
    return answer
  },
  ask: async (ports, { companyId, payload: { numberId } }) => {
    const order = await orderAt(ports, companyId, numberId)
    if (order === null) return { answer: "failed", reason: "discarded" }
    const known = await ports.carrier.askOrder(order)
    return known.answer === "unknown" ? "unknown" : known
  },
  isRepeatable: ({ carrier }) => carrier.isRepeatable,
  end: (ports, { companyId, payload: { numberId } }, answer, cause) =>
    endOrder(ports, { companyId, numberId }, answer, cause),
  // Whoever asked is told at once, and may ask again: no number is bought behind their back.
  unavailable: { answer: "failed", reason: "discarded" },
  times: { unavailableForMs: 0 },
  unknown: async ({ carrier, clock }, { payload: { orderedAt } }) => {
    const isNo = clock.now() - orderedAt >= carrier.unknownIsNoAfterMs
    return isNo ? { answer: "failed", reason: "not_at_carrier" } : null
  },
  givenUp: { answer: "failed", reason: "discarded" },
})

const isUnderWay = ({ answer }: Answer): boolean => answer === "pending" || answer === "settling"

type Failed = Extract<Answer, { readonly answer: "taken" | "failed" }>
const reasonOf = (answer: Failed): OrderFailure =>
  answer.answer === "taken" ? "taken" : answer.reason

/** Whether an order is so young that its number may be able to do more than the carrier says by now. */
async function maySettle(
  { runner, clock }: Ports,
  companyId: CompanyId,
  numberId: NumberId,
): Promise<boolean> {
  const known = await runner.read(phoneOf(companyId), (state) => orderOf(state, numberId))
  return known?.is === "open" && clock.now() - known.order.at < SETTLES_WITHIN_MS
}

/** What came of an order, recorded; false while the carrier is still at it. */
async function endOrder(
  ports: Ports,
  { companyId, numberId }: { readonly companyId: CompanyId; readonly numberId: NumberId },
  answer: Answer,
  cause: Cause,
): Promise<boolean> {
  if (answer.answer === "pending") return false
  if (answer.answer === "settling" && (await maySettle(ports, companyId, numberId))) return false
  const command =
    answer.answer === "bought" || answer.answer === "settling"
      ? { ...answer, type: "CompleteOrder" as const, numberId }
      : { type: "FailOrder" as const, numberId, reason: reasonOf(answer) }
  await ports.runner.execute(phoneOf(companyId), command, cause)
  return (await settleOrder(ports, companyId, numberId, cause)) === "ended"
}

/**
 * Asks now what became of an order, because the carrier says that something is new of it. Where it does
 * not answer, the order's own row goes on asking.
 */
export async function askAboutOrder(
  ports: Ports,
  of: { readonly companyId: CompanyId; readonly numberId: NumberId },
  cause: Cause,
): Promise<void> {
  const order = await orderAt(ports, of.companyId, of.numberId)
  if (order === null) return
  const asked = ports.carrier.askOrder(order)
  const known = await knownInTime(ports.pacer, "the carrier", asked, NEWS_WITHIN_MS)
  if (known !== null && known.answer !== "unknown") await endOrder(ports, of, known, cause)
}

/** An order as the carrier gets it; null where the number was erased. */
async function orderAt(ports: Ports, companyId: CompanyId, numberId: NumberId) {
  const known = await ports.runner.read(phoneOf(companyId), (state) => orderOf(state, numberId))
  if (known?.is !== "open") return null
  const number = await ports.sealing.open(companyId, known.order.number)
  return number === null ? null : { orderId: numberId, companyId, number }
}

/** Closes the charge of a number that came, and gives back that of one that did not. */
async function settleOrder(
  ports: Ports,
  companyId: CompanyId,
  numberId: NumberId,
  cause: Cause,
): Promise<"open" | "ended" | "not there"> {
  const known = await ports.runner.read(phoneOf(companyId), (state) => orderOf(state, numberId))
  if (known === null) return "not there"
  if (known.is === "open") return "open"
  const chargeId = chargeOf(numberId)
  const failed = { amountMicros: null, reason: "the number could not be bought" }
  await endCharge(ports, companyId, chargeId, known.is === "failed" ? failed : null, cause)
  return "ended"
}

/** What the charge of a number's first month is called. */
export const chargeOf = (numberId: string): string => `${numberId}:first`

/** What the reconciler does with the charge of a number's first month. */
export const reconciledNumber: Reconciled = {
  prefix: NUMBER_PREFIX,
  streamOf: (companyId) => phoneOf(companyId).stream,
  neverBegun: "the number was never ordered",
  abandon: async (ports, { companyId, resource }, cause) => {
    const numberId = parseNumberId(resource)
    if (numberId === null) throw new Error(`${resource} is no number`)
    const never = { type: "FailOrder" as const, numberId, reason: "abandoned" as const }
    const view = (state: Parameters<typeof orderOf>[0]) => orderOf(state, numberId)
    const known = (await ports.runner.execute(phoneOf(companyId), never, cause, view)).view
    if (known?.is === "failed" && known.reason === "abandoned") return "never begun"
    const state = await settleOrder(ports, companyId, numberId, cause)
    return state === "open" ? "open" : "ended"
  },
}
