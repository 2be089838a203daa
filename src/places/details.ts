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

/** Longer than a lookup at Google; with the charge it ends well before the lease of the pick. */
const LOOKUP_TIMEOUT_MS = 8_000

const LOOKUP_LIMIT: SliceErrorCode = {
  error: "lookup_limit",
  status: 429,
  example: {
    message: "Another request is looking up the same address. Try again in a few seconds.",
  },
}

const Details = z.object({
  action: z.literal("details").describe("Looks up the address of a suggestion"),
  placeId: placeIdSchema,
  sessionToken: sessionTokenSchema,
})

const AddressResult = z
  .object({
    line1: z.string().describe("Number and street"),
    city: z.string().describe("Town or city"),
    state: z.string().describe("State, abbreviated"),
    zip: z.string().describe("ZIP code, with its suffix if known"),
    country: z.string().describe("Two letters (ISO 3166-1)"),
    lat: z.number().describe("Degrees north"),
    lng: z.number().describe("Degrees east"),
    formatted: z.string().describe("The complete address in one line"),
  })
  .meta({ id: "Address", description: "An address; unknown parts are empty" })

const DetailsReply = z.object({
  result: AddressResult.nullable().describe(
    "Null if the place does not exist; the lookup is charged too",
  ),
})

type Input = CheckedRequest<z.infer<typeof Details>>
type Answer = Reply<z.infer<typeof DetailsReply>>

const LOOKUP_FAILED_REASON = "the address could not be looked up"

/** Looks up a pick, or answers from its stored address. */
async function handle(ports: Ports, caller: Caller, { body }: Input): Promise<Answer> {
  const pick = await pickOf(ports, caller.companyId, body)
  const chargeId = newId("chg")
  const claim = await claimPick(ports, pick, chargeId)
  if (claim.state === "kept") return { ok: true, body: { result: claim.address } }
  if (claim.state === "loading") return stillLoading()
  try {
    // A crashed lookup left its charge pending; only one charge of a pick may stand.
    if (claim.previousChargeId !== null) await refundPick(ports, caller, claim.previousChargeId)
    const price = await unitPrice(ports, "address_details")
    const pendingCharge = { chargeId, resource: pick.pickId, isPending: true, searchedUpTo: null }
    const placed = await placeCharge(ports, caller, price, pendingCharge)
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
    const message = "The address provider does not answer; nothing was charged. Try again."
    const unavailable = { ...refusal("unavailable", message), headers: { "retry-after": "5" } }
    return { ok: false, refusal: unavailable, position: await refundPick(ports, caller, chargeId) }
  }
  await endSession(ports, companyId, token)
  if (await storePickAddress(ports, pick, chargeId, result)) {
    await ports.settleCharge(companyId, chargeId)
    return { ok: true, body: { result }, position, chargeId }
  }
  // The lease ran out and another request claimed the pick, so that one pays.
  const refundPosition = await refundPick(ports, caller, chargeId)
  return { ...stillLoading(), position: refundPosition }
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

/** Reconciles the charge of a pick after a crash. */
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
  specGap: "The specification does not show the method: POST, because it charges.",
  handle,
})

/** `POST /api/v1/places` with `action: details`: looks up an address, charged once a session. */
export const placeDetails: PaidRoute = {
  ...detailsRoute,
  paid: { reconciled: pickReconciliation, jobs: [] },
}
