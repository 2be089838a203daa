/**
 * What is charged, as data: price → charge → intent → act → end. The handler of its route, going on after
 * a lost answer, and what the reconciler does with a charge that has had no next fact, all follow.
 *
 * A charge is made open before the intent is recorded, and names it: so a crash at any line leaves an
 * open charge, and either the intent's own row ends it or the reconciler gives it back.
 */
import { ClaimLost } from "../../../adapters/claims/port.ts"
import { ledgerOf } from "../../../domain/charging/aggregates.ts"
import type { ChargeRefused } from "../../../domain/charging/ledger-events.ts"
import type { Micros } from "../../../domain/kernel/money.ts"
import { causeOf } from "../calls/caller-cause.ts"
import { chargeRefusal } from "../calls/charge-refusals.ts"
import { payerOf } from "../calls/payer.ts"
import type { Refusal } from "../calls/refusal.ts"
import type { Caller, Checked, Reply, Resumed, Seed } from "../calls/route.ts"
import { derivedId } from "../kernel/ids.ts"
import type { Ports } from "../ports.ts"
import { OutcomeUnknown } from "../writer/run.ts"
import { awaitOutcome } from "./awaited.ts"
import type { ChargedSpec, Named, Paid, Price, Told } from "./charged-spec.ts"
import { giveBack } from "./charge-ends.ts"
import { lookUpCharge } from "./charges.ts"

type Answer<R> = Reply<R, number>

/** The handler of a charged route, and how it goes on after a lost answer. */
export function charged<B, D extends object, T extends object, R, P extends string>(
  spec: ChargedSpec<B, D, T, R, P>,
): {
  readonly charged: true
  readonly handle: (
    ports: Ports,
    caller: Caller,
    input: Checked<B, unknown, unknown>,
  ) => Promise<Reply<R, never>>
  readonly resume: (
    ports: Ports,
    caller: Caller,
    input: Checked<B, unknown, unknown>,
  ) => Promise<Resumed<R, never>>
} {
  return {
    charged: true,
    handle: (ports, caller, { body, seed }) =>
      handle(spec, ports, caller, body, seed) as Promise<Reply<R, never>>,
    resume: (ports, caller, { body, seed }) =>
      resume(spec, ports, caller, body, seed) as Promise<Resumed<R, never>>,
  }
}

/** The ids of an attempt. */
function namedBy<P extends string>({ prefix }: { readonly prefix: P }, { parts }: Seed): Named<P> {
  return { id: derivedId(prefix, ...parts), chargeId: derivedId("chg", ...parts) }
}

async function handle<B, D extends object, T extends object, R, P extends string>(
  spec: ChargedSpec<B, D, T, R, P>,
  ports: Ports,
  caller: Caller,
  body: B,
  first: Seed,
): Promise<Answer<R>> {
  const draft = await spec.draft(ports, caller, body)
  if ("refusal" in draft) return { ok: false, refusal: draft.refusal }
  const prepared = await spec.prepare(ports, draft)
  if ("refusal" in prepared) return { ok: false, refusal: prepared.refusal }
  for (let seed = first; ; seed = await seed.next()) {
    const answer = await chargeAndIntend(spec, ports, caller, draft, prepared, namedBy(spec, seed))
    // The charge of this attempt was given back, and the next attempt is to begin.
    if (answer !== "again") return answer
  }
}

/** Finds what was done of this attempt before, and goes on from there. */
async function resume<B, D extends object, T extends object, R, P extends string>(
  spec: ChargedSpec<B, D, T, R, P>,
  ports: Ports,
  caller: Caller,
  body: B,
  seed: Seed,
): Promise<Resumed<R, number>> {
  const draft = await spec.draft(ports, caller, body)
  if ("refusal" in draft) return { seed }
  const named = namedBy(spec, seed)
  try {
    return await goOn(spec, ports, caller, draft, named, seed)
  } catch (error) {
    // Whoever had the claim before may have charged: until that is found out, all else is a doubt.
    throw error instanceof ClaimLost ? error : inDoubt(error, named)
  }
}

/**
 * The resource's stream is asked first: only an intent that is not known there has a charge that
 * nobody ends in the meantime.
 */
async function goOn<B, D extends object, T extends object, R, P extends string>(
  spec: ChargedSpec<B, D, T, R, P>,
  ports: Ports,
  caller: Caller,
  draft: D,
  named: Named<P>,
  seed: Seed,
): Promise<Resumed<R, number>> {
  const { id, chargeId } = named
  const begun = await spec.begun(ports, draft, id)
  if (begun === "undone") return { seed: await seed.next() }
  if (begun === "yes") return { reply: await replied(spec, ports, caller, draft, named) }
  const { row } = await lookUpCharge(ports, caller.companyId, chargeId)
  // A closed charge paid for something that was done, even where its stream has forgotten it.
  if (row?.state === "final") return { reply: await replied(spec, ports, caller, draft, named) }
  if (row?.state === "given_back") return { seed: await seed.next() }
  if (row === null) return { seed }
  const prepared = await spec.prepare(ports, draft)
  if ("refusal" in prepared) return { seed }
  const paid = { ...named, chargedMicros: -row.amount_micros }
  const answer = await intend(spec, ports, caller, draft, prepared, paid)
  return answer === "again" ? { seed: await seed.next() } : { reply: answer }
}

async function chargeAndIntend<B, D extends object, T extends object, R, P extends string>(
  spec: ChargedSpec<B, D, T, R, P>,
  ports: Ports,
  caller: Caller,
  draft: D,
  prepared: T,
  named: Named<P>,
): Promise<Answer<R> | "again"> {
  const price = await spec.price(ports, draft, prepared)
  if ("refusal" in price) return { ok: false, refusal: price.refusal }
  const made = await charge(ports, caller, price, spec.resource(draft, named.id), named)
  if ("refusal" in made) return { ok: false, refusal: made.refusal }
  return intend(spec, ports, caller, draft, prepared, { ...named, ...made })
}

/** Charges, open; answers what was charged for it, now or before. */
async function charge(
  ports: Ports,
  caller: Caller,
  price: Price,
  resource: string,
  named: Pick<Named<string>, "chargeId">,
): Promise<{ readonly chargedMicros: Micros } | { readonly refusal: Refusal }> {
  const { companyId, spender } = caller
  const { chargeId } = named
  const { class: spending = "general", ...priced } = price
  const made = await ports.runner
    .execute(
      ledgerOf(companyId),
      {
        type: "Charge",
        chargeId,
        ...spender,
        class: spending,
        ...priced,
        resource,
        requestedAt: ports.clock.now(),
        dueAt: null,
        servedFrom: null,
        open: true,
        exempt: null,
        searchedTo: null,
      },
      causeOf(caller),
    )
    .catch((error: unknown) => {
      throw error instanceof OutcomeUnknown ? inDoubt(error, named) : error
    })
  if (!made.accepted) {
    const refused = made.refusal as ChargeRefused
    ports.keepRefusal(companyId, refused)
    return { refusal: chargeRefusal(refused, await payerOf(ports, caller)) }
  }
  if (made.facts.length > 0) return { chargedMicros: price.amountMicros }
  // Without a new fact it was charged before, perhaps for another form of it or at another price.
  const { row } = await lookUpCharge(ports, companyId, chargeId)
  return { chargedMicros: row === null ? price.amountMicros : -row.amount_micros }
}

/**
 * Records the intent of what is paid for; gives back what its stream refuses. Whatever goes wrong here
 * leaves an open charge, so it is a doubt and never a plain refusal.
 */
async function intend<B, D extends object, T extends object, R, P extends string>(
  spec: ChargedSpec<B, D, T, R, P>,
  ports: Ports,
  caller: Caller,
  draft: D,
  prepared: T,
  paid: Paid<P>,
): Promise<Answer<R> | "again"> {
  try {
    const intended = await spec.intend(ports, caller, draft, prepared, paid)
    if (intended === "found") return await replied(spec, ports, caller, draft, paid)
    if (intended !== "again" && "reply" in intended) {
      if (spec.awaits === undefined) return answerOf(intended)
      return await replied(spec, ports, caller, draft, paid)
    }
    const back = { amountMicros: null, reason: spec.undone }
    const position = await giveBack(ports, caller.companyId, paid.chargeId, back, causeOf(caller))
    return intended === "again" ? "again" : { ok: false, refusal: intended.refusal, position }
  } catch (error) {
    throw inDoubt(error, paid)
  }
}

/**
 * The answer of an intent that is recorded: at once, or once it has come to something.
 *
 * @throws OutcomeUnknown where that is not known in time
 */
async function replied<B, D extends object, T extends object, R, P extends string>(
  spec: ChargedSpec<B, D, T, R, P>,
  ports: Ports,
  caller: Caller,
  draft: D,
  named: Named<P>,
): Promise<Answer<R>> {
  if (spec.awaits === undefined) return answerOf(await spec.reply(ports, draft, named.id))
  const outcome = await awaitOutcome(spec.awaits, ports, caller, draft, named)
  if (outcome === null) throw new OutcomeUnknown("what was asked for is not done yet")
  return "refusal" in outcome ? { ok: false, refusal: outcome.refusal } : answerOf(outcome)
}

function answerOf<R>({ reply: body, position }: Told<R>): Answer<R> {
  return { ok: true, body, position }
}

/** An error that says which charge to look for. */
function inDoubt(cause: unknown, { chargeId }: Pick<Named<string>, "chargeId">): OutcomeUnknown {
  const message = `charge ${chargeId} may have been made, and what it pays for may not be begun`
  return Object.assign(new OutcomeUnknown(message, { cause }), { chargeId })
}
