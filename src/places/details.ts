/** `POST /api/v1/places` with `action: details`: the address of a suggestion, charged once a session. */
import { z } from "zod"
import type { Position } from "../../adapters/eventstore/port.ts"
import { inTime, isOutside } from "../../adapters/providers/outside.ts"
import type { Address } from "../../adapters/providers/places/port.ts"
import type { ChargeId } from "../../domain/kernel/ids.ts"
import { causeOf } from "../frame/routes/call.ts"
import { RATE_LIMITS } from "../frame/routes/checks/rate-limits.ts"
import type { OwnCode } from "../frame/routes/answers/refusal.ts"
import { refusal } from "../frame/routes/answers/refusal.ts"
import type { Caller, Checked, Reply } from "../frame/routes/declare/route.ts"
import { route } from "../frame/routes/declare/route.ts"
import { CHARGE_REFUSALS, giveBack, placeCharge } from "../frame/effects/charges.ts"
import { inDoubt } from "../frame/effects/give-up.ts"
import type { PaidRoute } from "../frame/effects/paid.ts"
import { priceOfOne } from "../frame/effects/price.ts"
import type { Reconciled } from "../frame/effects/reconcile.ts"
import { newId } from "../frame/kernel/ids.ts"
import type { Ports } from "../frame/ports.ts"
import { PROVIDER, asked, endSession, lookUpOf, pickedId, sessionToken } from "./looking-up.ts"
import type { PickedPlace } from "./picks.ts"
import { PICK_PREFIX, endOf, keep, letGo, pickOf, take } from "./picks.ts"

/** A look-up of Google's takes less; with the charge it is over long before the lease of the pick. */
const WITHIN_MS = 8_000

/** The same pick is being looked up by another call. */
const LOOKUP_LIMIT: OwnCode = {
  error: "lookup_limit",
  status: 429,
  example: {
    message: "This pick is still being looked up by another call; ask again in a moment.",
  },
}

const Details = z.object({
  action: z.literal("details").describe("The address of a suggestion"),
  placeId: pickedId,
  sessionToken,
})

const AddressResult = z
  .object({
    line1: z.string().describe("Number and street"),
    city: z.string().describe("Town or city"),
    state: z.string().describe("State, as short as it is written"),
    zip: z.string().describe("ZIP code, with its suffix where that is known"),
    country: z.string().describe("Two letters (ISO 3166-1)"),
    lat: z.number().describe("Degrees north"),
    lng: z.number().describe("Degrees east"),
    formatted: z.string().describe("The whole in one line"),
  })
  .meta({ id: "Address", description: "An address; what of it is not known is empty" })

const DetailsReply = z.object({
  result: AddressResult.nullable().describe("Null where there is no such place: it is charged too"),
})

type Input = Checked<z.infer<typeof Details>>
type Answer = Reply<z.infer<typeof DetailsReply>>

const NOT_FOUND_OUT = "the address could not be looked up"

/** Looks a pick up, or answers from what is kept of it. */
async function handle(ports: Ports, caller: Caller, { body }: Input): Promise<Answer> {
  const pick = await pickOf(ports, caller.companyId, body)
  const chargeId = newId("chg")
  const taken = await take(ports, pick, chargeId)
  if (taken.state === "kept") return { ok: true, body: { result: taken.address } }
  if (taken.state === "loading") return stillLoading()
  try {
    // Of a pick that somebody left in the middle, one charge stands at any time.
    if (taken.former !== null) await back(ports, caller, taken.former)
    const price = await priceOfOne(ports, "address_details")
    const open = { chargeId, resource: pick.pickId, isPending: true, searchedTo: null }
    const placed = await placeCharge(ports, caller, price, open)
    if (placed === "search again") throw new Error(`charge ${chargeId} was to be looked for`)
    if ("refusal" in placed) {
      await letGo(ports, pick, chargeId)
      return { ok: false, refusal: placed.refusal }
    }
    return await lookUp(ports, caller, body, { pick, chargeId, position: placed.position })
  } catch (error) {
    throw inDoubt(error, chargeId)
  }
}

/** A pick that is this call's, and paid. */
interface Paid {
  readonly pick: PickedPlace
  readonly chargeId: ChargeId
  readonly position: Position | null
}

async function lookUp(
  ports: Ports,
  caller: Caller,
  { placeId, sessionToken: token }: Input["body"],
  { pick, chargeId, position }: Paid,
): Promise<Answer> {
  const { companyId } = caller
  let result: Address | null
  try {
    const session = await lookUpOf(ports, companyId, token)
    const details = asked(ports, (places) => places.details(placeId, session))
    result = await inTime(ports.pacer, PROVIDER, details, WITHIN_MS)
  } catch (error) {
    if (!isOutside(error)) throw error
    await letGo(ports, pick, chargeId)
    const message = "The address provider does not answer; nothing was charged. Send it again."
    const why = { ...refusal("unavailable", message), headers: { "retry-after": "5" } }
    return { ok: false, refusal: why, position: await back(ports, caller, chargeId) }
  }
  await endSession(ports, companyId, token)
  if (await keep(ports, pick, chargeId, result)) {
    await ports.closeCharge(companyId, chargeId)
    return { ok: true, body: { result }, position, chargeId }
  }
  // It took so long that another call has it by now: that one pays.
  const given = await back(ports, caller, chargeId)
  return { ...stillLoading(), position: given }
}

const back = (ports: Pick<Ports, "runner">, caller: Caller, chargeId: ChargeId) =>
  giveBack(
    ports,
    caller.companyId,
    chargeId,
    { amountMicros: null, reason: NOT_FOUND_OUT },
    causeOf(caller),
  )

function stillLoading(): Extract<Answer, { ok: false }> {
  return { ok: false, refusal: refusal(LOOKUP_LIMIT, LOOKUP_LIMIT.example.message) }
}

/** What becomes of the charge for a pick that a crash left in the middle. */
const reconciledPick: Reconciled = {
  prefix: PICK_PREFIX,
  neverBegun: NOT_FOUND_OUT,
  abandon: async (ports, { companyId, chargeId, resource: pickId }) => {
    const end = await endOf(ports, { companyId, pickId }, chargeId)
    if (end === "loading") return "open"
    if (end === "nothing") return "never begun"
    await ports.closeCharge(companyId, chargeId)
    return "ended"
  },
}

const looking = route({
  name: "findPlace",
  method: "POST",
  url: "/api/v1/places",
  group: "places",
  summary: "Look up the address of a suggestion",
  example: {
    body: { action: "details", placeId: "demo_7300_12", sessionToken: "0195f3c8-checkout" },
  },
  operation: "lookup.address.details",
  counted: true,
  limit: RATE_LIMITS.paid,
  account: "managed",
  charged: true,
  body: Details,
  reply: DetailsReply,
  refuses: [LOOKUP_LIMIT, "unavailable", ...CHARGE_REFUSALS],
  specGap: "The specification does not show the verb: POST, because it charges.",
  handle,
})

/** The route, and how its charges end. */
export const placeDetails: PaidRoute = {
  ...looking,
  paid: { reconciled: reconciledPick, jobs: [] },
}
