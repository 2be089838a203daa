/**
 * What is charged, as data: price → charge → intent → act → end. The handler of its route, going on after
 * a lost answer, and what the reconciler does with a charge that has had no next fact, all follow.
 *
 * A charge is made open before the intent is recorded, and names it: so a crash at any line leaves an
 * open charge, and either the intent's own row ends it or the reconciler gives it back.
 */
import { ClaimLost } from "../../../adapters/postgres/idempotency/port.ts"
import { ledgerOf } from "../../../domain/charging/aggregates.ts"
import { ledgerRevision } from "../../../domain/charging/ledger-views.ts"
import type { ChargeId } from "../../../domain/kernel/ids.ts"
import { causeOf } from "../routes/call.ts"
import type { Refusal } from "../routes/answers/refusal.ts"
import type { Caller, Checked, Reply, Resumed, Seed } from "../routes/declare/route.ts"
import { canonicalJson } from "../kernel/envelope.ts"
import { derivedId } from "../kernel/ids.ts"
import type { Ports } from "../ports.ts"
import { OutcomeUnknown } from "../writer/run.ts"
import type { ChargedSpec, Named, Paid, Price, Told, Awaits, Outcome } from "./charged-spec.ts"
import { giveBack } from "./charge-ends.ts"
import { lookUpCharge } from "./charges.ts"
import { inDoubt } from "./give-up.ts"
import { placeCharge } from "./place-charge.ts"
import type { Pacer } from "../../../adapters/machine/clock/port.ts"

/** How long a call waits where its spec says nothing: a provider's ten seconds, and what stands around it. */
const WITHIN_MS = 15_000

/** Facts of another process are looked for so often. */
const LOOK_EVERY_MS = 50

type Answer<R> = Reply<R, number>

/** A checked request of any shape. */
type AnyInput = Checked<unknown, unknown, unknown>

/** The handler of a charged route, and how it goes on after a lost answer. */
export function charged<
  I extends AnyInput,
  D extends object,
  T extends object,
  R,
  P extends string,
>(spec: ChargedSpec<I, D, T, R, P>) {
  return {
    charged: true as const,
    paysFor: spec.prefix as string,
    handle: (ports: Ports, caller: Caller, input: I) =>
      new ChargedCall(spec, ports, caller, input).handle() as Promise<Reply<R, never>>,
    resume: (ports: Ports, caller: Caller, input: I) =>
      new ChargedCall(spec, ports, caller, input).resume() as Promise<Resumed<R, never>>,
  }
}

/** A call of a charged route. */
class ChargedCall<I extends AnyInput, D extends object, T extends object, R, P extends string> {
  readonly #spec: ChargedSpec<I, D, T, R, P>
  readonly #ports: Ports
  readonly #caller: Caller
  readonly #input: I

  constructor(spec: ChargedSpec<I, D, T, R, P>, ports: Ports, caller: Caller, input: I) {
    this.#spec = spec
    this.#ports = ports
    this.#caller = caller
    this.#input = input
  }

  async handle(): Promise<Answer<R>> {
    const draft = await this.#spec.draft(this.#ports, this.#caller, this.#input)
    if ("refusal" in draft) return { ok: false, refusal: draft.refusal }
    const { isNamed } = this.#input.seed
    const one = isNamed ? undefined : await this.#spec.one?.(this.#ports, draft)
    if (one !== undefined) return this.#handleOne(draft, one)
    const prepared = await this.#spec.prepare(this.#ports, draft)
    if ("refusal" in prepared) return { ok: false, refusal: prepared.refusal }
    for (let { seed } = this.#input; ; seed = await seed.next()) {
      const answer = await this.#chargeAndIntend(draft, prepared, this.#namedBy(seed), null)
      // The charge of this attempt was given back, and the next attempt is to begin.
      if (answer !== "again" && answer !== "look again") return answer
    }
  }

  /** What the ids of the one thing derive from that all identical requests of this caller mean. */
  #seedOfOne(draft: D, one: string, attempt = 1): Seed {
    const { keyId, personId } = this.#caller.spender
    return {
      parts: ["one", keyId ?? "", personId ?? "", canonicalJson(draft), one, String(attempt)],
      isNamed: true,
      next: async () => this.#seedOfOne(draft, one, attempt + 1),
    }
  }

  /** Begins the one thing, or goes on from where an identical request stands that comes at the same time. */
  async #handleOne(draft: D, one: string): Promise<Answer<R>> {
    const ports = this.#ports
    for (let seed = this.#seedOfOne(draft, one); ;) {
      const named = this.#namedBy(seed)
      const searchedTo = await ports.runner.read(ledgerOf(this.#caller.companyId), ledgerRevision)
      const found = await this.#goOn(draft, named, seed)
      if ("reply" in found) return found.reply
      if (found.seed !== seed) {
        const isUndone = (await this.#spec.begun(ports, draft, named.id)) === "undone"
        // It came to nothing while this request was under way: that is the outcome of both.
        const isOver = isUndone && (await this.#spec.one?.(ports, draft)) !== one
        if (isOver) return this.#replied(draft, named)
        seed = found.seed
        continue
      }
      const prepared = await this.#spec.prepare(ports, draft)
      if ("refusal" in prepared) {
        // What stands against it may be the thing itself, begun a moment ago.
        const begun = await this.#spec.begun(ports, draft, named.id)
        if (begun === "no") return { ok: false, refusal: prepared.refusal }
        continue
      }
      const answer = await this.#chargeAndIntend(draft, prepared, named, searchedTo)
      if (answer !== "again" && answer !== "look again") return answer
    }
  }

  /** Finds what was done of this attempt before, and goes on from there. */
  async resume(): Promise<Resumed<R, number>> {
    const { seed } = this.#input
    const draft = await this.#spec.draft(this.#ports, this.#caller, this.#input)
    if ("refusal" in draft) return { seed }
    const named = this.#namedBy(seed)
    try {
      return await this.#goOn(draft, named, seed)
    } catch (error) {
      // Whoever had the claim before may have charged: until that is found out, all else is a doubt.
      throw error instanceof ClaimLost ? error : inDoubt(error, named.chargeId)
    }
  }

  /** The ids of an attempt. */
  #namedBy({ parts }: Seed): Named<P> {
    const { prefix, chargeId } = this.#spec
    const id = derivedId(prefix, ...parts)
    return { id, chargeId: chargeId?.(id) ?? derivedId("chg", ...parts) }
  }

  /**
   * The resource's stream is asked first: only an intent that is not known there has a charge that
   * nobody ends in the meantime.
   */
  async #goOn(draft: D, named: Named<P>, seed: Seed): Promise<Resumed<R, number>> {
    const { id, chargeId } = named
    const begun = await this.#spec.begun(this.#ports, draft, id)
    if (begun === "undone") return { seed: await seed.next() }
    if (begun === "yes") return { reply: await this.#replied(draft, named) }
    const { row } = await lookUpCharge(this.#ports, this.#caller.companyId, chargeId)
    // A closed charge paid for something that was done, even where its stream has forgotten it.
    if (row?.state === "final") return { reply: await this.#replied(draft, named) }
    if (row?.state === "given_back") return { seed: await seed.next() }
    if (row === null) return { seed }
    const prepared = await this.#spec.prepare(this.#ports, draft)
    if ("refusal" in prepared) return { seed }
    const paid = { ...named, chargedMicros: -row.amount_micros, item: row.item }
    // What was held may have been freed since.
    const held = await this.#spec.holds?.take(this.#ports, this.#caller, draft, prepared, named)
    const answer =
      held === undefined || held === null
        ? await this.#intend(draft, prepared, paid)
        : await this.#undo(paid, held.refusal)
    return answer === "again" ? { seed: await seed.next() } : { reply: answer }
  }

  /**
   * @param searchedTo up to where in the ledger no charge of this name is; null where none can be
   * @returns `"look again"` where an identical request charged meanwhile
   */
  async #chargeAndIntend(
    draft: D,
    prepared: T,
    named: Named<P>,
    searchedTo: number | null,
  ): Promise<Answer<R> | "again" | "look again"> {
    const { holds } = this.#spec
    const price = await this.#spec.price(this.#ports, draft, prepared)
    if (price !== "free" && "refusal" in price) return { ok: false, refusal: price.refusal }
    const held = await holds?.take(this.#ports, this.#caller, draft, prepared, named)
    if (held !== undefined && held !== null) return { ok: false, refusal: held.refusal }
    const resource = this.#spec.resource(draft, named.id)
    const made = await this.#charge(price, { resource, searchedTo }, named)
    if (made === "look again") return made
    if ("refusal" in made) {
      await holds?.free(this.#ports, this.#caller, draft, named)
      return { ok: false, refusal: made.refusal }
    }
    const answer = await this.#intend(draft, prepared, { ...named, ...made })
    const isNothing = answer === "again" || !answer.ok
    if (isNothing) await holds?.free(this.#ports, this.#caller, draft, named)
    return answer
  }

  /** Charges, open; answers what was charged for it, now or before. */
  async #charge(
    price: Price | "free",
    { resource, searchedTo }: { readonly resource: string; readonly searchedTo: number | null },
    named: Named<P>,
  ): Promise<
    Pick<Paid<P>, "chargedMicros" | "item"> | { readonly refusal: Refusal } | "look again"
  > {
    if (price === "free") return { chargedMicros: 0, item: null }
    const { chargeId } = named
    const ports = this.#ports
    const once = { chargeId, resource, isPending: true, searchedTo }
    const made = await placeCharge(ports, this.#caller, price, once)
    if (made !== "search again" && "refusal" in made) return made
    const isMade = made !== "search again" && made.fact !== null
    if (isMade) return { chargedMicros: price.amountMicros, item: price.item }
    if (searchedTo !== null) return "look again"
    // Ids that derive from the request are looked for nowhere, so never once more.
    if (made === "search again") throw new Error(`charge ${chargeId} was to be looked for`)
    // Without a new fact it was charged before, perhaps for another form of it or at another price.
    const { row } = await lookUpCharge(ports, this.#caller.companyId, chargeId)
    if (row === null) return { chargedMicros: price.amountMicros, item: price.item }
    return { chargedMicros: -row.amount_micros, item: row.item }
  }

  /**
   * Records the intent of what is paid for; gives back what its stream refuses. Whatever goes wrong here
   * leaves an open charge, so it is a doubt and never a plain refusal.
   */
  async #intend(draft: D, prepared: T, paid: Paid<P>): Promise<Answer<R> | "again"> {
    const caller = this.#caller
    try {
      const intended = await this.#spec.intend(this.#ports, caller, draft, prepared, paid)
      if (intended === "found") return await this.#replied(draft, paid)
      if (intended !== "again" && "reply" in intended) {
        if (this.#spec.awaits === undefined) return answerOf(intended, chargeOf(paid))
        return await this.#replied(draft, paid)
      }
      return await this.#undo(paid, intended === "again" ? null : intended.refusal)
    } catch (error) {
      throw inDoubt(error, chargeOf(paid))
    }
  }

  /** Gives back what was charged; a refusal is answered, and without one the next attempt begins. */
  async #undo(paid: Paid<P>, refusal: Refusal | null): Promise<Answer<R> | "again"> {
    const { chargeId } = paid
    if (paid.item === null) return refusal === null ? "again" : { ok: false, refusal }
    const back = { amountMicros: null, reason: this.#spec.undone }
    const { companyId } = this.#caller
    const position = await giveBack(this.#ports, companyId, chargeId, back, causeOf(this.#caller))
    return refusal === null ? "again" : { ok: false, refusal, position }
  }

  /**
   * The answer of an intent that is recorded: at once, or once it has come to something.
   *
   * @throws OutcomeUnknown where that is not known in time
   */
  async #replied(draft: D, named: Named<P> | Paid<P>): Promise<Answer<R>> {
    const { awaits, reply } = this.#spec
    const chargeId = chargeOf(named)
    if (awaits === undefined) return answerOf(await reply(this.#ports, draft, named.id), chargeId)
    const ports = this.#ports
    const outcome = await awaitOutcome(
      awaits,
      ports,
      this.#caller,
      draft,
      named,
      this.#input.stopping,
    )
    if (outcome === null) throw new OutcomeUnknown("what was asked for is not done yet")
    return "refusal" in outcome
      ? { ok: false, refusal: outcome.refusal }
      : answerOf(outcome, chargeId)
  }
}

/** What its charge is called; null for what is known to be free. */
function chargeOf(named: Named<string> | Paid<string>): ChargeId | null {
  return "item" in named && named.item === null ? null : named.chargeId
}

function answerOf<R>({ reply: body, position }: Told<R>, chargeId: string | null): Answer<R> {
  return { ok: true, body, position, ...(chargeId === null ? {} : { chargeId }) }
}

/**
 * Does the work of an intent, or waits for who does. Where nobody knows in time what came of it, or before
 * this process stops, what is known by then; null where that is no answer.
 */
export async function awaitOutcome<D, R, P extends string>(
  awaits: Awaits<D, R, P>,
  ports: Ports,
  caller: Caller,
  draft: D,
  named: Named<P>,
  stopping: AbortSignal,
): Promise<Outcome<R> | null> {
  const known = await inTimeOutcome(awaits, ports, caller, draft, named, stopping)
  return known ?? (await awaits.soFar?.(ports, caller, draft, named)) ?? null
}

async function inTimeOutcome<D, R, P extends string>(
  { work, outcome, withinMs = WITHIN_MS }: Awaits<D, R, P>,
  ports: Ports,
  caller: Caller,
  draft: D,
  named: Named<P>,
  stopping: AbortSignal,
): Promise<Outcome<R> | null> {
  const { pacer } = ports
  const look = () => outcome(ports, caller, draft, named)
  const until = pacer.elapsedMs() + withinMs
  const known = await look()
  if (known !== null || stopping.aborted) return known
  const doing = ports.doNow(work(ports, caller, draft, named), stopping)
  const isOwn = await orLate(pacer, doing, withinMs)
  for (;;) {
    const found = await look()
    // What this process did, and put off, is not known any sooner by looking again.
    if (found !== null || isOwn || stopping.aborted || pacer.elapsedMs() >= until) return found
    await pacer.pause(LOOK_EVERY_MS, stopping)
  }
}

/** What is being done, or false once it has taken too long: it goes on without who waits for it. */
async function orLate(pacer: Pacer, doing: Promise<boolean>, withinMs: number): Promise<boolean> {
  const done = new AbortController()
  const late = pacer.pause(withinMs, done.signal).then(() => false)
  return Promise.race([doing, late]).finally(() => done.abort())
}
