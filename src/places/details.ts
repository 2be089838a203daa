/** `POST /api/v1/places` with `action: details`: the address of a suggestion, charged once a session. */
import { z } from "zod"
import type { Position } from "../../adapters/eventstore/port.ts"
import { withProviderTimeout, isProviderError } from "../../adapters/providers/provider-errors.ts"
import type { PlaceAddress } from "../../adapters/providers/places/port.ts"
import type { ChargeId } from "../../domain/kernel/ids.ts"
import { causeOf } from "../frame/routes/api-call.ts"
import { RATE_LIMITS } from "../frame/routes/checks/rate-limits.ts"
import type { SliceErrorCode } from "../frame/routes/answers/refusal.ts"
import { refusal } from "../frame/routes/answers/refusal.ts"
import type { Caller, CheckedRequest, Reply } from "../frame/routes/declare/route.ts"
import { route } from "../frame/routes/declare/route.ts"
import { PAID_ROUTE_REFUSAL_CODES, refundCharge, placeCharge } from "../frame/effects/charges.ts"
import { unknownChargeOutcome } from "../frame/effects/discard.ts"
import type { PaidRoute } from "../frame/effects/paid-route.ts"
import { unitPrice } from "../frame/effects/price.ts"
import type { Reconciliation } from "../frame/effects/reconcile.ts"
import { newId } from "../frame/kernel/ids.ts"
import type { Ports } from "../frame/ports.ts"
import {
  ADDRESS_PROVIDER_LABEL,
  askProvider,
  endSession,
  lookupForSession,
  placeIdSchema,
  sessionTokenSchema,
} from "./lookup.ts"
import type { PickReference } from "./picks.ts"
import { PICK_PREFIX, endPick, storePickAddress, releasePick, pickOf, claimPick } from "./picks.ts"

/** A look-up of Google's takes less; with the charge it is over long before the lease of the pick. */
const LOOKUP_TIMEOUT_MS = 8_000

/** The same pick is being looked up by another call. */
const LOOKUP_LIMIT: SliceErrorCode = {
  error: "lookup_limit",
  status: 429,
  example: {
    message: "This pick is still being looked up by another call; ask again in a moment.",
  },
}

const Details = z.object({
  action: z.literal("details").describe("The address of a suggestion"),
  placeId: placeIdSchema,
  sessionToken: sessionTokenSchema,
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

type Input = CheckedRequest<z.infer<typeof Details>>
type Answer = Reply<z.infer<typeof DetailsReply>>

const LOOKUP_FAILED_REASON = "the address could not be looked up"

/** Looks a pick up, or answers from what is kept of it. */
async function handle(ports: Ports, caller: Caller, { body }: Input): Promise<Answer> {
  const pick = await pickOf(ports, caller.companyId, body)
  const chargeId = newId("chg")
  const taken = await claimPick(ports, pick, chargeId)
  if (taken.state === "kept") return { ok: true, body: { result: taken.address } }
  if (taken.state === "loading") return stillLoading()
  try {
    // Of a pick that somebody left in the middle, one charge stands at any time.
    if (taken.previousChargeId !== null) await refundPick(ports, caller, taken.previousChargeId)
    const price = await unitPrice(ports, "address_details")
    const open = { chargeId, resource: pick.pickId, isPending: true, searchedUpTo: null }
    const placed = await placeCharge(ports, caller, price, open)
    if (placed === "search again") throw new Error(`charge ${chargeId} was to be looked for`)
    if ("refusal" in placed) {
      await releasePick(ports, pick, chargeId)
      return { ok: false, refusal: placed.refusal }
    }
    return await lookUp(ports, caller, body, { pick, chargeId, position: placed.position })
  } catch (error) {
    throw unknownChargeOutcome(error, chargeId)
  }
}

/** A pick that is this call's, and paid. */
interface PaidPick {
  readonly pick: PickReference
  readonly chargeId: ChargeId
  readonly position: Position | null
}

async function lookUp(
  ports: Ports,
  caller: Caller,
  { placeId, sessionToken: token }: Input["body"],
  { pick, chargeId, position }: PaidPick,
): Promise<Answer> {
  const { companyId } = caller
  let result: PlaceAddress | null
  try {
    const session = await lookupForSession(ports, companyId, token)
    const details = askProvider(ports, (places) => places.findAddress(placeId, session))
    result = await withProviderTimeout(
      ports.pacer,
      ADDRESS_PROVIDER_LABEL,
      details,
      LOOKUP_TIMEOUT_MS,
    )
  } catch (error) {
    if (!isProviderError(error)) throw error
    await releasePick(ports, pick, chargeId)
    const message = "The address provider does not answer; nothing was charged. Send it again."
    const why = { ...refusal("unavailable", message), headers: { "retry-after": "5" } }
    return { ok: false, refusal: why, position: await refundPick(ports, caller, chargeId) }
  }
  await endSession(ports, companyId, token)
  if (await storePickAddress(ports, pick, chargeId, result)) {
    await ports.settleCharge(companyId, chargeId)
    return { ok: true, body: { result }, position, chargeId }
  }
  // It took so long that another call has it by now: that one pays.
  const given = await refundPick(ports, caller, chargeId)
  return { ...stillLoading(), position: given }
}

const refundPick = (ports: Pick<Ports, "runner">, caller: Caller, chargeId: ChargeId) =>
  refundCharge(
    ports,
    caller.companyId,
    chargeId,
    { amountMicros: null, reason: LOOKUP_FAILED_REASON },
    causeOf(caller),
  )

function stillLoading(): Extract<Answer, { ok: false }> {
  return { ok: false, refusal: refusal(LOOKUP_LIMIT, LOOKUP_LIMIT.example.message) }
}

/** What becomes of the charge for a pick that a crash left in the middle. */
const pickReconciliation: Reconciliation = {
  prefix: PICK_PREFIX,
  neverBegunReason: LOOKUP_FAILED_REASON,
  abandon: async (ports, { companyId, chargeId, resource: pickId }) => {
    const end = await endPick(ports, { companyId, pickId }, chargeId)
    if (end === "loading") return "open"
    if (end === "nothing") return "never begun"
    await ports.settleCharge(companyId, chargeId)
    return "ended"
  },
}

const detailsRoute = route({
  name: "findPlace",
  method: "POST",
  url: "/api/v1/places",
  group: "places",
  summary: "Look up the address of a suggestion",
  example: {
    body: { action: "details", placeId: "demo_7300_12", sessionToken: "0195f3c8-checkout" },
  },
  operation: "lookup.address.details",
  isCounted: true,
  rateLimit: RATE_LIMITS.paid,
  accountRequirement: "managed",
  isCharged: true,
  body: Details,
  reply: DetailsReply,
  refusalCodes: [LOOKUP_LIMIT, "unavailable", ...PAID_ROUTE_REFUSAL_CODES],
  specGap: "The specification does not show the verb: POST, because it charges.",
  handle,
})

/** The route, and how its charges end. */
export const placeDetails: PaidRoute = {
  ...detailsRoute,
  paid: { reconciled: pickReconciliation, jobs: [] },
}
