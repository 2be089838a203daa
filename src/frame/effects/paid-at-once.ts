/**
 * What is charged and done at once, as data: price → charge, final → act. There is no intent and no row of
 * work: what a crash leaves in between is a charge, and the same `Idempotency-Key` then does what it paid
 * for without another one. Where the provider does nothing, refuses or is silent, it is given back.
 */
import type { Position } from "../../../adapters/eventstore/port.ts"
import { inTime, isOutside } from "../../../adapters/providers/outside.ts"
import type { Charged } from "../../../domain/charging/ledger-formats.ts"
import { refundable } from "../../../projections/charging/charges.ts"
import { causeOf } from "../routes/call.ts"
import type { Refusal } from "../routes/answers/refusal.ts"
import { refusal } from "../routes/answers/refusal.ts"
import type {
  Caller,
  Checked,
  Described,
  Reply,
  Resumed,
  Route,
  Seed,
  Typed,
} from "../routes/declare/route.ts"
import { route } from "../routes/declare/route.ts"
import { derivedId } from "../kernel/ids.ts"
import type { Ports } from "../ports.ts"
import type { FoundCharge } from "./charges.ts"
import { CHARGE_REFUSALS, lookUpCharge, placeCharge, refundEnded } from "./charges.ts"
import type { Price } from "./price.ts"
import { inDoubt } from "./give-up.ts"

type Needs = Pick<Ports, "projector" | "readAll" | "runner" | "store">

/** Something that is charged and done at once; `I` is the checked request. */
export interface AtOnceSpec<I, R> {
  /** What it costs, or why it may not be. */
  readonly price: (
    ports: Ports,
    caller: Caller,
    input: I,
  ) => Promise<Price | { readonly refusal: Refusal }>
  /** Who does it, as a sentence calls them: `the finder`. */
  readonly provider: string
  /** Does it. @throws ProviderUnavailable, ProviderSilent: the caller has nothing of it */
  readonly act: (
    ports: Ports,
    caller: Caller,
    input: I,
  ) => Promise<{ readonly reply: R } | { readonly refusal: Refusal }>
  /** Why the charge was given back of what was not done, for the bill's reader. */
  readonly undone: string
}

/** A charge that is final, and what is left of it. */
interface Made extends FoundCharge {
  /** Where it stands; null where it stood there before. */
  readonly position: Position | null
}

/** A route that is charged and done at once; every type follows from its schemas. */
export function paidAtOnce<
  R,
  const S extends number = 200,
  B = undefined,
  Q = undefined,
  P = undefined,
>(
  spec: Omit<Described, "charged"> &
    Omit<Typed<P, Q, B, R, S>, "handle" | "resume" | "once"> &
    AtOnceSpec<Checked<B, Q, P>, NoInfer<R>>,
): Route {
  type Input = Checked<B, Q, P>
  const handle = async (ports: Ports, caller: Caller, input: Input): Promise<Reply<R, never>> => {
    for (let { seed } = input; ; seed = await seed.next()) {
      const made = await make(spec, ports, caller, { ...input, seed })
      if (made === "given back") continue
      return "refusal" in made
        ? { ok: false, refusal: made.refusal }
        : perform(spec, ports, caller, input, made)
    }
  }
  const resume = async (ports: Ports, caller: Caller, input: Input): Promise<Resumed<R, never>> => {
    const found = await find(ports, caller, input.seed).catch((error: unknown) => {
      throw inDoubt(error, chargeIdOf(input.seed))
    })
    if (found === "given back") return { seed: await input.seed.next() }
    return found === null
      ? { seed: input.seed }
      : { reply: await perform(spec, ports, caller, input, found) }
  }
  return route<R, S, B, Q, P>({
    ...spec,
    charged: true,
    refuses: [...(spec.refuses ?? []), ...CHARGE_REFUSALS],
    handle,
    resume,
  })
}

const chargeIdOf = ({ parts }: Seed) => derivedId("chg", ...parts)

/** Charges, once; or says why it may not be, or that this attempt was given back. */
async function make<I extends Checked<unknown, unknown, unknown>, R>(
  spec: AtOnceSpec<I, R>,
  ports: Ports,
  caller: Caller,
  input: I,
): Promise<Made | "given back" | { readonly refusal: Refusal }> {
  const price = await spec.price(ports, caller, input)
  if ("refusal" in price) return price
  const { seed } = input
  for (;;) {
    const searched = await search(ports, caller, seed)
    if (searched.found !== null) return searched.found
    const made = await placeCharge(ports, caller, price, {
      chargeId: chargeIdOf(seed),
      resource: null,
      isPending: false,
      searchedTo: searched.to,
    })
    // Whoever had the claim before charged in the same moment, or much else happened: it is looked for again.
    if (made === "search again") continue
    if ("refusal" in made) return made
    const { fact, revision: searchedTo, position } = made
    if (fact !== null) return { ...newlyMade(fact), searchedTo, position }
  }
}

/** A charge that was just made: all of it is left. */
function newlyMade({ at: chargedAt, ...fact }: Charged): Omit<FoundCharge, "searchedTo"> {
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
    leftMicros: amountMicros,
  }
}

/** What is known of a charge of this seed, and up to which revision it was looked for. */
async function search(
  ports: Needs,
  caller: Caller,
  seed: Seed,
): Promise<{ readonly found: Made | "given back" | null; readonly to: number | null }> {
  // Nothing ever derives from such a seed again, so no charge can be there.
  if (!seed.isNamed) return { found: null, to: null }
  const { row, searchedTo } = await lookUpCharge(ports, caller.companyId, chargeIdOf(seed))
  if (row === null) return { found: null, to: searchedTo }
  if (row.state === "given_back") return { found: "given back", to: searchedTo }
  return { found: { ...refundable(row), searchedTo, position: null }, to: searchedTo }
}

const find = async (ports: Needs, caller: Caller, seed: Seed) =>
  (await search(ports, caller, seed)).found

/** Does what was paid for; gives the charge back where nothing comes of it. */
async function perform<I, R>(
  spec: AtOnceSpec<I, R>,
  ports: Ports,
  caller: Caller,
  input: I,
  made: Made,
): Promise<Reply<R, never>> {
  const { chargeId } = made.charge
  const done = await inTime(ports.pacer, spec.provider, spec.act(ports, caller, input)).catch(
    (error: unknown) => {
      if (!isOutside(error)) throw inDoubt(error, chargeId)
      const message = `${capitalised(spec.provider)} does not answer; nothing was charged. Send it again.`
      const headers = { "retry-after": "5" }
      return { refusal: { ...refusal("unavailable", message), headers } }
    },
  )
  if ("reply" in done) return { ok: true, body: done.reply, position: made.position, chargeId }
  const position = await refund(ports, caller, made, spec.undone)
  return { ok: false, refusal: done.refusal, position }
}

const capitalised = (text: string) => `${text.charAt(0).toUpperCase()}${text.slice(1)}`

/** Refunds what is left of the charge. @throws OutcomeUnknown with the charge's id */
async function refund(
  ports: Needs,
  caller: Caller,
  made: FoundCharge,
  reason: string,
): Promise<Position | null> {
  const { charge, leftMicros, searchedTo } = made
  const found = { charge, leftMicros, searchedTo }
  try {
    return await refundEnded(ports, caller.companyId, found, reason, causeOf(caller))
  } catch (error) {
    throw inDoubt(error, charge.chargeId)
  }
}
