/**
 * `POST /api/v1/things`, from top to bottom: what a thing is and what its charge comes to, the job that has
 * it made, and the route.
 */
import { z } from "zod"
import type { CompanyId } from "../../../domain/kernel/ids.ts"
import { effect } from "../../../src/frame/effects/effect.ts"
import { paidThing } from "../../../src/frame/effects/paid-thing.ts"
import { paid } from "../../../src/frame/effects/paid.ts"
import { priceOfOne } from "../../../src/frame/effects/price.ts"
import { filledText, idOf, idSchema } from "../../../src/frame/kernel/schema.ts"
import { refusal } from "../../../src/frame/routes/answers/refusal.ts"
import { RATE_LIMITS } from "../../../src/frame/routes/checks/rate-limits.ts"
import type { ThingId } from "./thing.ts"
import { MOST_NAME, THING, parseThingId, thingIn, thingsOf } from "./thing.ts"

const NOT_MADE = { amountMicros: null, reason: "the thing was not made" }

/** A thing in the stream of its company. */
export const thingAt = (companyId: CompanyId, id: ThingId) => ({ id, stream: thingsOf(companyId) })

/** Things, and what their charges come to. */
export const thing = paidThing({
  prefix: "thing",
  aggregate: THING,
  at: (companyId, resource) => {
    const id = parseThingId(resource)
    return id === null ? null : thingAt(companyId, id)
  },
  view: thingIn,
  standing: ({ chargeId, outcome }) => {
    if (outcome === null) return { chargeId, charge: "pending", isUndone: false }
    const isUndone = outcome !== "made"
    return { chargeId, charge: isUndone ? NOT_MADE : "settled", isUndone }
  },
  abandon: (thingId) => ({ type: "AbandonThing" as const, thingId }),
  neverBegun: "the thing was never ordered",
})

/** What the rows of jobs that make things carry. */
export const OrderedThing = z.object({ thingId: idSchema(parseThingId), orderedAt: z.number() })

/** The jobs that make things. */
export const thingJobs = effect({
  kind: "make-thing",
  askKind: "ask-thing",
  payload: OrderedThing,
  provider: "the workshop",
  about: "this thing",
  unknownTo: "its company's stream does not know this thing",
  endsWithCompany: true,
  from: {
    ThingOrdered: ({ thingId, maker, at }) => {
      if (maker !== "workshop") return []
      return [{ name: thingId, payload: { thingId, orderedAt: at }, dueAt: at }]
    },
  },
  begunAt: ({ orderedAt }) => orderedAt,
  look: (ports, { companyId, payload: { thingId } }, cause) =>
    thing.look(ports, companyId, thingAt(companyId, thingId), cause),
  act: ({ workshop }, { payload: { thingId } }) => workshop.make(thingId),
  ask: ({ workshop }, { payload: { thingId } }) => workshop.ask(thingId),
  isRepeatable: () => false,
  end: async (ports, { companyId, payload: { thingId } }, outcome, cause) => {
    const command = { type: "EndThing" as const, thingId, outcome }
    const at = thingAt(companyId, thingId)
    return (await thing.conclude(ports, companyId, at, command, cause)).isSettled
  },
  unknown: async () => "refused" as const,
  givenUp: "refused",
})

/** A name that a thing can have. */
export const OrderThing = z.object({ name: filledText(MOST_NAME).describe("What it is called") })

/** A thing as its order is answered. */
export const ThingReply = z.object({
  id: idOf("the thing"),
  name: z.string().describe("What it is called"),
})

const NO_SUCH_THING = "There is no such thing."
const TAKEN = "The company has a thing of this name."

/** Orders a thing. */
export const orderThing = paid({
  name: "orderThing",
  method: "POST",
  url: "/api/v1/things",
  group: "things",
  summary: "Order a thing",
  example: { body: { name: "Lamp" } },
  operation: "code.publish.preview",
  counted: true,
  limit: RATE_LIMITS.paid,
  body: OrderThing,
  reply: ThingReply,
  success: [202],
  refuses: ["conflict"],

  thing,
  jobs: thingJobs,
  undone: "the thing could not be ordered",
  draft: async (_ports, _caller, { body: { name } }) =>
    name === "nothing" ? { refusal: refusal("conflict", NO_SUCH_THING) } : { name },
  price: (ports) => priceOfOne(ports, "deploy"),
  command: async (_ports, _caller, { name }, { id: thingId, chargeId }) => ({
    type: "OrderThing" as const,
    thingId,
    chargeId,
    maker: "workshop" as const,
    name,
  }),
  rejected: ({ code }) => (code === "name_taken" ? refusal("conflict", TAKEN) : null),
  answer: async (_ports, { name }, id) => ({ reply: { id, name } }),
})
