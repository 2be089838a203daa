/** `POST /api/v1/things`, from top to bottom: a paid thing, the jobs that make it, and the route. */
import { z } from "zod"
import type { CompanyId } from "../../../domain/kernel/ids.ts"
import { effect } from "../../../src/frame/effects/effect.ts"
import { paidResource } from "../../../src/frame/effects/paid-resource.ts"
import { paidRoute } from "../../../src/frame/effects/paid-route.ts"
import { unitPrice } from "../../../src/frame/effects/price.ts"
import { nonBlankText, describedId, idSchema } from "../../../src/frame/kernel/schema.ts"
import { refusal } from "../../../src/frame/routes/answers/refusal.ts"
import { RATE_LIMITS } from "../../../src/frame/routes/checks/rate-limits.ts"
import type { ThingId } from "./thing.ts"
import { THING_NAME_MAX_LENGTH, THING, parseThingId, thingIn, thingsOf } from "./thing.ts"

const NOT_MADE = { amountMicros: null, reason: "the thing was not made" }

/** A thing in the stream of its company. */
export const thingAt = (companyId: CompanyId, id: ThingId) => ({ id, stream: thingsOf(companyId) })

/** Things, and how their charges end. */
export const thing = paidResource({
  prefix: "thing",
  aggregate: THING,
  resolve: (companyId, resource) => {
    const id = parseThingId(resource)
    return id === null ? null : thingAt(companyId, id)
  },
  view: thingIn,
  status: ({ chargeId, outcome }) => {
    if (outcome === null) return { chargeId, charge: "pending", isVoid: false }
    const isVoid = outcome !== "made"
    return { chargeId, charge: isVoid ? NOT_MADE : "settled", isVoid }
  },
  abandonCommand: (thingId) => ({ type: "AbandonThing" as const, thingId }),
  neverBegunReason: "the thing was never ordered",
})

/** The payload of jobs that make things. */
export const OrderedThing = z.object({ thingId: idSchema(parseThingId), orderedAt: z.number() })

/** The jobs that make things. */
export const thingJobs = effect({
  kind: "make-thing",
  checkKind: "ask-thing",
  payload: OrderedThing,
  provider: "the workshop",
  label: "this thing",
  missingReason: "its company's stream does not know this thing",
  isDiscardedOnErasure: true,
  on: {
    ThingOrdered: ({ thingId, maker, at }) => {
      if (maker !== "workshop") return []
      return [{ name: thingId, payload: { thingId, orderedAt: at }, dueAt: at }]
    },
  },
  startedAt: ({ orderedAt }) => orderedAt,
  checkStatus: (ports, { companyId, payload: { thingId } }, cause) =>
    thing.checkStatus(ports, companyId, thingAt(companyId, thingId), cause),
  callProvider: ({ workshop }, { payload: { thingId } }) => workshop.make(thingId),
  checkProvider: ({ workshop }, { payload: { thingId } }) => workshop.checkStatus(thingId),
  isIdempotent: () => false,
  recordOutcome: async (ports, { companyId, payload: { thingId } }, outcome, cause) => {
    const command = { type: "EndThing" as const, thingId, outcome }
    const at = thingAt(companyId, thingId)
    return (await thing.conclude(ports, companyId, at, command, cause)).isSettled
  },
  notReceivedOutcome: async () => "refused" as const,
  discardedOutcome: "refused",
})

/** The body of an order. */
export const OrderThing = z.object({
  name: nonBlankText(THING_NAME_MAX_LENGTH).describe("Name of the thing"),
})

/** The answer to an order. */
export const ThingReply = z.object({
  id: describedId("the thing"),
  name: z.string().describe("Name of the thing"),
})

const NO_SUCH_THING = "There is no such thing."
const TAKEN = "The company has a thing of this name."

/** Orders a thing. */
export const orderThing = paidRoute({
  name: "orderThing",
  method: "POST",
  url: "/api/v1/things",
  group: "things",
  summary: "Order a thing",
  example: { body: { name: "Lamp" } },
  operation: "code.publish.preview",
  isCounted: true,
  rateLimit: RATE_LIMITS.paid,
  body: OrderThing,
  reply: ThingReply,
  statuses: [202],
  refusalCodes: ["conflict"],

  paidResource: thing,
  jobs: thingJobs,
  refundReason: "the thing could not be ordered",
  draft: async (_ports, _caller, { body: { name } }) =>
    name === "nothing" ? { refusal: refusal("conflict", NO_SUCH_THING) } : { name },
  price: (ports) => unitPrice(ports, "deploy"),
  command: async (_ports, _caller, { name }, { id: thingId, chargeId }) => ({
    type: "OrderThing" as const,
    thingId,
    chargeId,
    maker: "workshop" as const,
    name,
  }),
  toRefusal: ({ code }) => (code === "name_taken" ? refusal("conflict", TAKEN) : null),
  answer: async (_ports, { name }, id) => ({ reply: { id, name } }),
})
