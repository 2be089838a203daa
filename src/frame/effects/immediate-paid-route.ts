/**
 * A route that charges and does the paid work within the request: price → charge, settled → provider call.
 * It has no intent and no job: after a crash a retry with the same `Idempotency-Key` does the work for the
 * charge already made. If the provider fails, rejects or does not answer, the charge is refunded.
 */
import type { Position } from "../../../adapters/eventstore/port.ts"
import {
  withProviderTimeout,
  isProviderError,
} from "../../../adapters/providers/provider-errors.ts"
import type { Charged } from "../../../domain/charging/ledger-events.ts"
import { refundableChargeOf } from "../../../projections/charging/charges.ts"
import { causeOf } from "../routes/api-call.ts"
import type { Refusal } from "../routes/answers/refusal.ts"
import { refusal } from "../routes/answers/refusal.ts"
import type {
  Caller,
  CheckedRequest,
  RouteDescription,
  Reply,
  ResumeResult,
  Route,
  Seed,
  TypedRouteParts,
} from "../routes/declare/route.ts"
import { route } from "../routes/declare/route.ts"
import { derivedId } from "../kernel/ids.ts"
import type { Ports } from "../ports.ts"
import type { SettledChargeBalance } from "./charges.ts"
import {
  PAID_ROUTE_REFUSAL_CODES,
  lookUpCharge,
  placeCharge,
  refundSettledCharge,
} from "./charges.ts"
import type { Price } from "./price.ts"
import { unknownChargeOutcome } from "./discard.ts"

type RefundPorts = Pick<Ports, "projector" | "readAll" | "runner" | "store">

/** A route that charges and does the work immediately; `I` is the checked request. */
export interface ImmediatePaidSpec<I, R> {
  /** Returns the price, or why the request is rejected. */
  readonly price: (
    ports: Ports,
    caller: Caller,
    input: I,
  ) => Promise<Price | { readonly refusal: Refusal }>
  /** Name of the provider for messages: `the finder`. */
  readonly provider: string
  /** Calls the provider. @throws ProviderUnavailable, ProviderOutcomeUnknown: the charge is refunded */
  readonly callProvider: (
    ports: Ports,
    caller: Caller,
    input: I,
  ) => Promise<{ readonly reply: R } | { readonly refusal: Refusal }>
  /** The reason on the bill for refunding a charge whose work was not done. */
  readonly refundReason: string
}

/** A settled charge and its refundable amount. */
interface MadeCharge extends SettledChargeBalance {
  /** Position of its fact; null if an earlier request made the charge. */
  readonly position: Position | null
}

/** Defines a route that charges and does the work immediately; every type follows from its schemas. */
export function immediatePaidRoute<
  R,
  const S extends number = 200,
  B = undefined,
  Q = undefined,
  P = undefined,
>(
  spec: Omit<RouteDescription, "isCharged"> &
    Omit<TypedRouteParts<P, Q, B, R, S>, "handle" | "resume" | "permanentIdempotency"> &
    ImmediatePaidSpec<CheckedRequest<B, Q, P>, NoInfer<R>>,
): Route {
  type Input = CheckedRequest<B, Q, P>
  const handle = async (ports: Ports, caller: Caller, input: Input): Promise<Reply<R, never>> => {
    for (let { seed } = input; ; seed = await seed.next()) {
      const made = await makeCharge(spec, ports, caller, { ...input, seed })
      if (made === "refunded") continue
      return "refusal" in made
        ? { ok: false, refusal: made.refusal }
        : performPaid(spec, ports, caller, input, made)
    }
  }
  const resume = async (
    ports: Ports,
    caller: Caller,
    input: Input,
  ): Promise<ResumeResult<R, never>> => {
    const found = await findMadeCharge(ports, caller, input.seed).catch((error: unknown) => {
      throw unknownChargeOutcome(error, chargeIdOf(input.seed))
    })
    if (found === "refunded") return { seed: await input.seed.next() }
    return found === null
      ? { seed: input.seed }
      : { reply: await performPaid(spec, ports, caller, input, found) }
  }
  return route<R, S, B, Q, P>({
    ...spec,
    isCharged: true,
    refusalCodes: [...(spec.refusalCodes ?? []), ...PAID_ROUTE_REFUSAL_CODES],
    handle,
    resume,
  })
}

const chargeIdOf = ({ parts }: Seed) => derivedId("chg", ...parts)

/** Makes the charge once; returns a refusal, or that this attempt's charge was refunded. */
async function makeCharge<I extends CheckedRequest<unknown, unknown, unknown>, R>(
  spec: ImmediatePaidSpec<I, R>,
  ports: Ports,
  caller: Caller,
  input: I,
): Promise<MadeCharge | "refunded" | { readonly refusal: Refusal }> {
  const price = await spec.price(ports, caller, input)
  if ("refusal" in price) return price
  const { seed } = input
  for (;;) {
    const searched = await searchCharge(ports, caller, seed)
    if (searched.found !== null) return searched.found
    const made = await placeCharge(ports, caller, price, {
      chargeId: chargeIdOf(seed),
      resource: null,
      isPending: false,
      searchedUpTo: searched.to,
    })
    // A concurrent holder of the idempotency claim may have charged: look the charge up again.
    if (made === "search again") continue
    if ("refusal" in made) return made
    const { fact, revision: searchedUpTo, position } = made
    if (fact !== null) return { ...newChargeBalance(fact), searchedUpTo, position }
  }
}

/** The balance of a charge that was just made. */
function newChargeBalance({
  at: chargedAt,
  ...fact
}: Charged): Omit<SettledChargeBalance, "searchedUpTo"> {
  const { via, keyId, personId, class: spent, item, resource, chargeId, amountMicros } = fact
  return {
    charge: {
      via,
      keyId,
      personId,
      class: spent,
      item,
      resource,
      chargeId,
      amountMicros,
      countedAt: chargedAt,
    },
    refundableMicros: amountMicros,
  }
}

/** Looks up the charge of this seed, and returns the revision up to which the ledger was searched. */
async function searchCharge(
  ports: RefundPorts,
  caller: Caller,
  seed: Seed,
): Promise<{ readonly found: MadeCharge | "refunded" | null; readonly to: number | null }> {
  // Ids of such a seed are never derived again, so no earlier charge can exist.
  if (!seed.isKeyed) return { found: null, to: null }
  const { row, searchedTo: searchedUpTo } = await lookUpCharge(
    ports,
    caller.companyId,
    chargeIdOf(seed),
  )
  if (row === null) return { found: null, to: searchedUpTo }
  if (row.state === "given_back") return { found: "refunded", to: searchedUpTo }
  return { found: { ...refundableChargeOf(row), searchedUpTo, position: null }, to: searchedUpTo }
}

const findMadeCharge = async (ports: RefundPorts, caller: Caller, seed: Seed) =>
  (await searchCharge(ports, caller, seed)).found

/** Does the paid work; refunds the charge if that fails. */
async function performPaid<I, R>(
  spec: ImmediatePaidSpec<I, R>,
  ports: Ports,
  caller: Caller,
  input: I,
  made: MadeCharge,
): Promise<Reply<R, never>> {
  const { chargeId } = made.charge
  const done = await withProviderTimeout(
    ports.pacer,
    spec.provider,
    spec.callProvider(ports, caller, input),
  ).catch((error: unknown) => {
    if (!isProviderError(error)) throw unknownChargeOutcome(error, chargeId)
    const message = `${capitalised(spec.provider)} did not answer; nothing was charged. Send the request again.`
    const headers = { "retry-after": "5" }
    return { refusal: { ...refusal("unavailable", message), headers } }
  })
  if ("reply" in done) return { ok: true, body: done.reply, position: made.position, chargeId }
  const position = await refundMadeCharge(ports, caller, made, spec.refundReason)
  return { ok: false, refusal: done.refusal, position }
}

const capitalised = (text: string) => `${text.charAt(0).toUpperCase()}${text.slice(1)}`

/** Refunds the rest of the charge. @throws OutcomeUnknown with the charge's id */
async function refundMadeCharge(
  ports: RefundPorts,
  caller: Caller,
  made: SettledChargeBalance,
  reason: string,
): Promise<Position | null> {
  const { charge, refundableMicros, searchedUpTo } = made
  const found = { charge, refundableMicros: refundableMicros, searchedUpTo: searchedUpTo }
  try {
    return await refundSettledCharge(ports, caller.companyId, found, reason, causeOf(caller))
  } catch (error) {
    throw unknownChargeOutcome(error, charge.chargeId)
  }
}
