/**
 * What is charged and done at once, as data: price → charge, final → act. There is no intent and no row of
 * work: what a crash leaves in between is a charge, and the same `Idempotency-Key` then does what it paid
 * for without another one. Where the provider does nothing, refuses or is silent, it is given back.
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

/** Something that is charged and done at once; `I` is the checked request. */
export interface ImmediatePaidSpec<I, R> {
  /** What it costs, or why it may not be. */
  readonly price: (
    ports: Ports,
    caller: Caller,
    input: I,
  ) => Promise<Price | { readonly refusal: Refusal }>
  /** Who does it, as a sentence calls them: `the finder`. */
  readonly provider: string
  /** Does it. @throws ProviderUnavailable, ProviderOutcomeUnknown: the caller has nothing of it */
  readonly callProvider: (
    ports: Ports,
    caller: Caller,
    input: I,
  ) => Promise<{ readonly reply: R } | { readonly refusal: Refusal }>
  /** Why the charge was given back of what was not done, for the bill's reader. */
  readonly refundReason: string
}

/** A charge that is final, and what is left of it. */
interface MadeCharge extends SettledChargeBalance {
  /** Where it stands; null where it stood there before. */
  readonly position: Position | null
}

/** A route that is charged and done at once; every type follows from its schemas. */
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
      if (made === "given back") continue
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
    if (found === "given back") return { seed: await input.seed.next() }
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

/** Charges, once; or says why it may not be, or that this attempt was given back. */
async function makeCharge<I extends CheckedRequest<unknown, unknown, unknown>, R>(
  spec: ImmediatePaidSpec<I, R>,
  ports: Ports,
  caller: Caller,
  input: I,
): Promise<MadeCharge | "given back" | { readonly refusal: Refusal }> {
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
    // Whoever had the claim before charged in the same moment, or much else happened: it is looked for again.
    if (made === "search again") continue
    if ("refusal" in made) return made
    const { fact, revision: searchedUpTo, position } = made
    if (fact !== null) return { ...newChargeBalance(fact), searchedUpTo, position }
  }
}

/** A charge that was just made: all of it is left. */
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

/** What is known of a charge of this seed, and up to which revision it was looked for. */
async function searchCharge(
  ports: RefundPorts,
  caller: Caller,
  seed: Seed,
): Promise<{ readonly found: MadeCharge | "given back" | null; readonly to: number | null }> {
  // Nothing ever derives from such a seed again, so no charge can be there.
  if (!seed.isKeyed) return { found: null, to: null }
  const { row, searchedTo: searchedUpTo } = await lookUpCharge(
    ports,
    caller.companyId,
    chargeIdOf(seed),
  )
  if (row === null) return { found: null, to: searchedUpTo }
  if (row.state === "given_back") return { found: "given back", to: searchedUpTo }
  return { found: { ...refundableChargeOf(row), searchedUpTo, position: null }, to: searchedUpTo }
}

const findMadeCharge = async (ports: RefundPorts, caller: Caller, seed: Seed) =>
  (await searchCharge(ports, caller, seed)).found

/** Does what was paid for; gives the charge back where nothing comes of it. */
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
    const message = `${capitalised(spec.provider)} does not answer; nothing was charged. Send it again.`
    const headers = { "retry-after": "5" }
    return { refusal: { ...refusal("unavailable", message), headers } }
  })
  if ("reply" in done) return { ok: true, body: done.reply, position: made.position, chargeId }
  const position = await refundMadeCharge(ports, caller, made, spec.refundReason)
  return { ok: false, refusal: done.refusal, position }
}

const capitalised = (text: string) => `${text.charAt(0).toUpperCase()}${text.slice(1)}`

/** Refunds what is left of the charge. @throws OutcomeUnknown with the charge's id */
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
