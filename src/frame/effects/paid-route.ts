/**
 * A paid route, declared in one place: draft → prepare → price → holds → charge → command → answer. The
 * handler, resuming after a lost response, its jobs and the reconciliation of its charges follow.
 *
 * The charge is made pending before the command is recorded, and names the thing. A crash at any line
 * therefore leaves a pending charge, which the thing's own job ends or the reconciler refunds.
 */
import type { Pacer } from "../../../adapters/machine/clock/port.ts"
import type { ListedJob, NewJob } from "../../../adapters/postgres/jobs/port.ts"
import { ClaimLost } from "../../../adapters/postgres/idempotency/port.ts"
import { ledgerStreamOf } from "../../../domain/charging/aggregates.ts"
import { ledgerRevision } from "../../../domain/charging/ledger-views.ts"
import type { Fact } from "../../../domain/kernel/decider.ts"
import type { ChargeId } from "../../../domain/kernel/ids.ts"
import { causeOf } from "../routes/api-call.ts"
import type { Refusal } from "../routes/answers/refusal.ts"
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
import { canonicalJson } from "../kernel/envelope.ts"
import { derivedId } from "../kernel/ids.ts"
import type { Ports } from "../ports.ts"
import { OutcomeUnknown } from "../writer/runner.ts"
import type {
  KnownThing,
  AttemptIds,
  WithoutRejection,
  PaidAttempt,
  PaidSpec,
  Rejection,
  PaidReply,
} from "./paid-spec.ts"
import type { Price } from "./price.ts"
import type { ThingReference } from "./paid-thing.ts"
import { PAID_ROUTE_REFUSAL_CODES, refundCharge, lookUpCharge, placeCharge } from "./charges.ts"
import { unknownChargeOutcome } from "./discard.ts"
import type { Reaction } from "./reaction.ts"
import type { Reconciliation } from "./reconcile.ts"

/** How long a request waits by default: a provider's ten seconds, and the work around them. */
const DEFAULT_TIMEOUT_MS = 15_000

/** How often facts of another process are looked for. */
const POLL_EVERY_MS = 50

type PaidCallReply<R> = Reply<R, number>

/** A checked request of any shape. */
type AnyInput = CheckedRequest<unknown, unknown, unknown>

/** A route whose call pays for a thing, with all that this brings to the program. */
export interface PaidRoute extends Route {
  readonly paid: {
    /** How its pending charges end. */
    readonly reconciled: Reconciliation
    /** The jobs that do what was paid for. */
    readonly jobs: readonly Reaction[]
  }
}

/** Whether a route pays for things. */
export const isPaidRoute = (given: Route): given is PaidRoute => "paid" in given

/**
 * A route whose call pays for a thing; every type follows from its schemas, its thing and its callbacks.
 *
 * @throws RangeError where it awaits a job that would call the provider a second time
 */
export function paidRoute<
  D extends object,
  T extends object,
  P extends string,
  Id extends `${P}_${string}`,
  C,
  S,
  E extends Fact,
  N extends Fact,
  V extends object,
  J extends object,
  R,
  const St extends number = 200,
  B = undefined,
  Q = undefined,
  PP = undefined,
>(
  spec: Omit<RouteDescription, "isCharged"> &
    Omit<TypedRouteParts<PP, Q, B, R, St>, "handle" | "resume" | "permanentIdempotency"> &
    PaidSpec<CheckedRequest<B, Q, PP>, D, T, R, P, Id, C, S, E, N, V, J>,
): PaidRoute {
  const [job, asking] = spec.jobs
  if (spec.outcomeWait !== undefined && asking !== undefined && job.isAwaited !== true) {
    throw new RangeError(`${spec.url} runs ${job.kind} itself: that effect needs "isAwaited: true"`)
  }
  const call = (ports: Ports, caller: Caller, input: CheckedRequest<B, Q, PP>) =>
    new PaidCall(spec, ports, caller, input)
  const made = route<R, St, B, Q, PP>({
    ...spec,
    isCharged: true,
    refusalCodes: [...(spec.refusalCodes ?? []), ...PAID_ROUTE_REFUSAL_CODES],
    handle: (ports, caller, input) => call(ports, caller, input).handle() as Promise<Reply<R, St>>,
    resume: (ports, caller, input) =>
      call(ports, caller, input).resume() as Promise<ResumeResult<R, St>>,
  })
  return { ...made, paid: { reconciled: spec.thing.reconciliation, jobs: spec.jobs } }
}

/** One call of a paid route. */
class PaidCall<
  I extends AnyInput,
  D extends object,
  T extends object,
  R,
  P extends string,
  Id extends `${P}_${string}`,
  C,
  S,
  E extends Fact,
  N extends Fact,
  V extends object,
  J extends object,
> {
  readonly #spec: PaidSpec<I, D, T, R, P, Id, C, S, E, N, V, J>
  readonly #ports: Ports
  readonly #caller: Caller
  readonly #input: I

  constructor(
    spec: PaidSpec<I, D, T, R, P, Id, C, S, E, N, V, J>,
    ports: Ports,
    caller: Caller,
    input: I,
  ) {
    this.#spec = spec
    this.#ports = ports
    this.#caller = caller
    this.#input = input
  }

  async handle(): Promise<PaidCallReply<R>> {
    const draft = await this.#spec.draft(this.#ports, this.#caller, this.#input)
    if (isRejected(draft)) return { ok: false, refusal: draft.refusal }
    return this.#start(draft as WithoutRejection<D>)
  }

  async #start(draft: WithoutRejection<D>): Promise<PaidCallReply<R>> {
    const { isKeyed } = this.#input.seed
    const one = isKeyed ? undefined : await this.#spec.shared?.(this.#ports, draft)
    if (one !== undefined) return this.#handleShared(draft, one)
    const prepared = await this.#prepare(draft)
    if (isRejected(prepared)) return { ok: false, refusal: prepared.refusal }
    for (let { seed } = this.#input; ; seed = await seed.next()) {
      const answer = await this.#chargeAndRecord(draft, prepared, this.#attemptIds(seed), null)
      // The charge of this attempt was refunded, and the next attempt begins.
      if (answer !== "again" && answer !== "look again") return answer
    }
  }

  async #prepare(draft: WithoutRejection<D>): Promise<WithoutRejection<T> | Rejection> {
    return ((await this.#spec.prepare?.(this.#ports, draft)) ?? {}) as
      WithoutRejection<T> | Rejection
  }

  /** The ids of the one thing derive from what all identical requests of this caller share. */
  #sharedSeed(draft: D, one: string, attempt = 1): Seed {
    const { keyId, personId } = this.#caller.spender
    return {
      parts: ["one", keyId ?? "", personId ?? "", canonicalJson(draft), one, String(attempt)],
      isKeyed: true,
      next: async () => this.#sharedSeed(draft, one, attempt + 1),
    }
  }

  /** Begins the one thing, or continues from where an identical concurrent request stands. */
  async #handleShared(draft: WithoutRejection<D>, one: string): Promise<PaidCallReply<R>> {
    const ports = this.#ports
    for (let seed = this.#sharedSeed(draft, one); ;) {
      const named = this.#attemptIds(seed)
      const searchedTo = await ports.runner.read(
        ledgerStreamOf(this.#caller.companyId),
        ledgerRevision,
      )
      const found = await this.#continueAttempt(draft, named, seed)
      if ("reply" in found) return found.reply
      if (found.seed !== seed) {
        const { view, isUndone } = await this.#status(draft, named)
        // It came to nothing while this request was under way: that is the outcome of both. An abandoned
        // thing never began, so it has no outcome, and the next attempt begins.
        const hasOutcome = isUndone && view !== "abandoned"
        const isOver = hasOutcome && (await this.#spec.shared?.(ports, draft)) !== one
        if (isOver) return this.#reply(draft, named)
        seed = found.seed
        continue
      }
      const prepared = await this.#prepare(draft)
      if (isRejected(prepared)) {
        // The obstacle may be the thing itself, which an identical request began a moment ago.
        const { view } = await this.#status(draft, named)
        if (view === null) return { ok: false, refusal: prepared.refusal }
        continue
      }
      const answer = await this.#chargeAndRecord(draft, prepared, named, searchedTo)
      if (answer !== "again" && answer !== "look again") return answer
    }
  }

  /** Finds what an earlier request did of this attempt, and continues from there. */
  async resume(): Promise<ResumeResult<R, number>> {
    const { seed } = this.#input
    const draft = await this.#spec.draft(this.#ports, this.#caller, this.#input)
    if (isRejected(draft)) return { seed }
    const named = this.#attemptIds(seed)
    try {
      return await this.#continueAttempt(draft as WithoutRejection<D>, named, seed)
    } catch (error) {
      // The earlier request may have charged: until that is found out, every other error is a doubt.
      throw error instanceof ClaimLost ? error : unknownChargeOutcome(error, named.chargeId)
    }
  }

  /** The ids of an attempt. */
  #attemptIds({ parts }: Seed): AttemptIds<Id> {
    const { thing, chargeId } = this.#spec
    const id = derivedId(thing.prefix, ...parts) as Id
    return { id, chargeId: chargeId?.(id) ?? derivedId("chg", ...parts) }
  }

  /** Where the stream knows the thing. */
  #resolve(draft: WithoutRejection<D>, id: Id): ThingReference<Id, C, S, E, N> {
    const { thing, resource } = this.#spec
    const named = resource?.(draft, id) ?? id
    const at = thing.resolve(this.#caller.companyId, named)
    if (at === null) throw new Error(`${named} is not a ${thing.prefix}`)
    return at
  }

  /** How the thing of an attempt stands by its own stream. */
  async #status(draft: WithoutRejection<D>, { id }: AttemptIds<Id>) {
    const { thing } = this.#spec
    const view = await this.#ports.runner.read(this.#resolve(draft, id).stream, thing.view(id))
    if (view === "abandoned") return { view, isUndone: true }
    return { view, isUndone: view !== null && thing.status(view).isVoid }
  }

  /**
   * The resource's stream is asked first: only an intent that is not known there has a charge that
   * nothing ends in the meantime.
   */
  async #continueAttempt(
    draft: WithoutRejection<D>,
    named: AttemptIds<Id>,
    seed: Seed,
  ): Promise<ResumeResult<R, number>> {
    const { view, isUndone } = await this.#status(draft, named)
    if (isUndone) return { seed: await seed.next() }
    if (view !== null && view !== "abandoned") {
      return { reply: await this.#reply(draft, named, { view, facts: [], prepared: null }) }
    }
    const { row } = await lookUpCharge(this.#ports, this.#caller.companyId, named.chargeId)
    // A settled charge paid for something that was done, even where its stream has forgotten it.
    if (row?.state === "final") return { reply: await this.#reply(draft, named) }
    if (row?.state === "given_back") return { seed: await seed.next() }
    if (row === null) return { seed }
    const prepared = await this.#prepare(draft)
    if (isRejected(prepared)) return { seed }
    const made = { ...named, chargedMicros: -row.amount_micros, item: row.item }
    // What was held may have been freed since.
    const held = await this.#spec.slotReservation?.reserve(this.#ports, this.#caller, draft, named)
    const reply =
      held === undefined || held === null
        ? await this.#record(draft, prepared, made)
        : await this.#refund(made, held.refusal)
    return reply === "again" ? { seed: await seed.next() } : { reply }
  }

  /**
   * @param searchedTo up to where in the ledger no charge of this name is; null where none can be
   * @returns `"look again"` where an identical request charged meanwhile
   */
  async #chargeAndRecord(
    draft: WithoutRejection<D>,
    prepared: WithoutRejection<T>,
    named: AttemptIds<Id>,
    searchedTo: number | null,
  ): Promise<PaidCallReply<R> | "again" | "look again"> {
    const { slotReservation } = this.#spec
    const price = await this.#spec.price(this.#ports, draft, prepared)
    if (price !== "free" && "refusal" in price) return { ok: false, refusal: price.refusal }
    const held = await slotReservation?.reserve(this.#ports, this.#caller, draft, named)
    if (held !== undefined && held !== null) return { ok: false, refusal: held.refusal }
    const resource = this.#spec.resource?.(draft, named.id) ?? named.id
    const made = await this.#charge(price, { resource, searchedTo }, named)
    if (made === "look again") return made
    if ("refusal" in made) {
      await slotReservation?.release(this.#ports, this.#caller, draft, named)
      return { ok: false, refusal: made.refusal }
    }
    const answer = await this.#record(draft, prepared, { ...named, ...made })
    const isNothing = answer === "again" || !answer.ok
    if (isNothing) await slotReservation?.release(this.#ports, this.#caller, draft, named)
    return answer
  }

  /** Makes the pending charge; returns what was charged, now or by an earlier request. */
  async #charge(
    price: Price | "free",
    { resource, searchedTo }: { readonly resource: string; readonly searchedTo: number | null },
    { chargeId }: AttemptIds<Id>,
  ): Promise<Pick<PaidAttempt<Id>, "chargedMicros" | "item"> | Rejection | "look again"> {
    if (price === "free") return { chargedMicros: 0, item: null }
    const ports = this.#ports
    const once = { chargeId, resource, isPending: true, searchedUpTo: searchedTo }
    const made = await placeCharge(ports, this.#caller, price, once)
    if (made !== "search again" && "refusal" in made) return made
    const isMade = made !== "search again" && made.fact !== null
    if (isMade) return { chargedMicros: price.amountMicros, item: price.item }
    if (searchedTo !== null) return "look again"
    // Ids that derive from the request are not searched for, so never a second time.
    if (made === "search again") throw new Error(`charge ${chargeId} was to be looked for`)
    // Without a new fact it was charged before, perhaps for another form of it or at another price.
    const { row } = await lookUpCharge(ports, this.#caller.companyId, chargeId)
    if (row === null) return { chargedMicros: price.amountMicros, item: price.item }
    return { chargedMicros: -row.amount_micros, item: row.item }
  }

  /**
   * Records the intent of what is paid for; refunds what its stream rejects. Whatever goes wrong here
   * leaves a pending charge, so it is a doubt and never a plain refusal.
   */
  async #record(
    draft: WithoutRejection<D>,
    prepared: WithoutRejection<T>,
    made: PaidAttempt<Id>,
  ): Promise<PaidCallReply<R> | "again"> {
    const { thing, command, toRefusal } = this.#spec
    const ports = this.#ports
    const caller = this.#caller
    try {
      const { id, stream } = this.#resolve(draft, made.id)
      const asked = await command(ports, caller, draft, made, prepared)
      const done = await ports.runner.execute(stream, asked, causeOf(caller), thing.view(id))
      if (done.accepted && done.view !== null && done.view !== "abandoned") {
        const { view, facts, position } = done
        // What an identical request recorded before stands where that request recorded it.
        return await this.#reply(
          draft,
          made,
          { view, facts, prepared },
          facts.length > 0 ? position : null,
        )
      }
      await thing.onAbandoned?.(ports, caller.companyId, id)
      return await this.#refund(made, done.accepted ? null : (toRefusal?.(done.refusal) ?? null))
    } catch (error) {
      throw unknownChargeOutcome(error, chargeIdOf(made))
    }
  }

  /** Refunds what was charged; a refusal is answered, and without one the next attempt begins. */
  async #refund(
    made: PaidAttempt<Id>,
    refusal: Refusal | null,
  ): Promise<PaidCallReply<R> | "again"> {
    const { chargeId } = made
    if (made.item === null) return refusal === null ? "again" : { ok: false, refusal }
    const back = { amountMicros: null, reason: this.#spec.refundReason }
    const { companyId } = this.#caller
    const position = await refundCharge(
      this.#ports,
      companyId,
      chargeId,
      back,
      causeOf(this.#caller),
    )
    return refusal === null ? "again" : { ok: false, refusal, position }
  }

  /**
   * The answer for a thing that is recorded: immediately, or once it has come to something.
   *
   * @param known what this request knows of it; absent where its stream may have forgotten it
   * @throws OutcomeUnknown where the outcome is not known in time
   */
  async #reply(
    draft: WithoutRejection<D>,
    named: AttemptIds<Id> | PaidAttempt<Id>,
    known?: KnownThing<V, E, WithoutRejection<T>>,
    position: PaidReply<R>["position"] = null,
  ): Promise<PaidCallReply<R>> {
    const { thing, answer, forgottenAnswer, outcomeWait } = this.#spec
    const ports = this.#ports
    const { id } = named
    const told =
      outcomeWait !== undefined
        ? await this.#waitForOutcome(draft, id)
        : known !== undefined
          ? await answer(ports, draft, id, known)
          : ((await forgottenAnswer?.(ports, draft, id)) ?? null)
    if (told === null) throw new OutcomeUnknown(`the outcome of ${id} is not known yet`)
    if ("refusal" in told) return { ok: false, refusal: told.refusal }
    // A retry cannot tell by its ids alone whether the thing was free.
    const chargeId = known === undefined ? chargeIdOf(named) : thing.status(known.view).chargeId
    const charge = chargeId === null ? {} : { chargeId }
    return { ok: true, body: told.reply, position: told.position ?? position, ...charge }
  }

  /** Does the job of a thing, or waits for the process that does it; what is known once the time is over. */
  async #waitForOutcome(
    draft: WithoutRejection<D>,
    id: Id,
  ): Promise<PaidReply<R> | Rejection | null> {
    const { thing, answer, outcomeWait, jobs } = this.#spec
    const ports = this.#ports
    const { companyId } = this.#caller
    const { stream } = this.#resolve(draft, id)
    let last: V | null = null
    const look = async () => {
      const view = await ports.runner.readLatest(stream, thing.view(id))
      last = view === "abandoned" ? null : view
      return last === null
        ? null
        : answer(ports, draft, id, { view: last, facts: [], prepared: null })
    }
    if (outcomeWait === undefined) return look()
    const now = ports.clock.now()
    const [{ kind }] = jobs
    const payload = outcomeWait.payload(id, now)
    const job = { kind, payload, name: id, subject: id, companyId, dueAt: now }
    const known = await awaitOutcome(ports, job, look, this.#input.stopping, outcomeWait.timeoutMs)
    if (known !== null || last === null) return known
    return (await outcomeWait.interimReply?.(ports, draft, last)) ?? null
  }
}

const isRejected = (given: object): given is Rejection => "refusal" in given

/** The id of its charge; null for what is known to be free. */
function chargeIdOf(named: AttemptIds<string> | PaidAttempt<string>): ChargeId | null {
  return "item" in named && named.item === null ? null : named.chargeId
}

/**
 * Runs a job, or waits for the process that runs it, until its outcome is known.
 *
 * @param look the outcome as far as it is recorded; null while it is not
 * @returns null where it is not known in time, where the job was put off, or before this process stops
 */
export async function awaitOutcome<R>(
  ports: Pick<Ports, "clock" | "runJobNow" | "pacer" | "jobs">,
  job: NewJob,
  look: () => Promise<R | null>,
  stopping: AbortSignal,
  withinMs = DEFAULT_TIMEOUT_MS,
): Promise<R | null> {
  const { clock, pacer, jobs } = ports
  const until = pacer.elapsedMs() + withinMs
  const known = await look()
  if (known !== null || stopping.aborted) return known
  // Once this process did it or put it off, waiting longer does not make the outcome known any sooner.
  let isOver = await trueAfterTimeout(pacer, ports.runJobNow(job, stopping), withinMs)
  for (let wasThere = false; ;) {
    // The job is looked at before the outcome: what it recorded until then is found.
    const row = isOver ? null : await jobs.findByName(job.kind, job.name)
    isOver ||= row === null ? wasThere : isDeferred(row, clock.now())
    wasThere = row !== null
    const found = await look()
    if (found !== null || isOver || stopping.aborted || pacer.elapsedMs() >= until) return found
    await pacer.pause(POLL_EVERY_MS, stopping)
  }
}

/** Whether a job waits for its next time or for an operator; a retry after a passing failure is near. */
const isDeferred = ({ stuck, dueAt }: ListedJob, now: number): boolean =>
  stuck !== null || Date.parse(dueAt) > now

/** The result of what is being done, or true once it has taken too long: it goes on without the request. */
async function trueAfterTimeout(
  pacer: Pacer,
  doing: Promise<boolean>,
  withinMs: number,
): Promise<boolean> {
  const done = new AbortController()
  const late = pacer.pause(withinMs, done.signal).then(() => true)
  return Promise.race([doing, late]).finally(() => done.abort())
}
