/**
 * A paid route, declared in one place: draft → prepare → price → reserve → charge → command → answer. Its
 * handler, the resume after a lost response, its jobs and the reconciliation of its charges derive from that.
 *
 * The charge is pending before the command is recorded, and names the resource. A crash at any line therefore
 * leaves a pending charge, which the resource's own job ends or the reconciler refunds.
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
  KnownResource,
  AttemptIds,
  WithoutRejection,
  PaidAttempt,
  PaidSpec,
  Rejection,
  PaidReply,
} from "./paid-spec.ts"
import type { Price } from "./price.ts"
import type { PaidResourceReference } from "./paid-resource.ts"
import { PAID_ROUTE_REFUSAL_CODES, refundCharge, lookUpCharge, placeCharge } from "./charges.ts"
import { unknownChargeOutcome } from "./discard.ts"
import type { Reaction } from "./reaction.ts"
import type { Reconciliation } from "./reconcile.ts"

/** Default wait of a request: a provider's ten seconds plus the program's own work. */
const DEFAULT_TIMEOUT_MS = 15_000

/** Interval for polling facts that another process records. */
const POLL_EVERY_MS = 50

type PaidCallReply<R> = Reply<R, number>

type AnyInput = CheckedRequest<unknown, unknown, unknown>

/** A route whose call pays for a resource, with its jobs and reconciliation. */
export interface PaidRoute extends Route {
  readonly paid: {
    readonly reconciled: Reconciliation
    /** The jobs that do the paid work. */
    readonly jobs: readonly Reaction[]
  }
}

/** Whether a route pays for resources. */
export const isPaidRoute = (given: Route): given is PaidRoute => "paid" in given

/**
 * Defines a route whose call pays for a resource; every type follows from its schemas, resource and callbacks.
 *
 * @throws RangeError if it awaits a job that would call the provider a second time
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
  return { ...made, paid: { reconciled: spec.paidResource.reconciliation, jobs: spec.jobs } }
}

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
      // This attempt's charge was refunded, so the next attempt begins.
      if (answer !== "again" && answer !== "look again") return answer
    }
  }

  async #prepare(draft: WithoutRejection<D>): Promise<WithoutRejection<T> | Rejection> {
    return ((await this.#spec.prepare?.(this.#ports, draft)) ?? {}) as
      WithoutRejection<T> | Rejection
  }

  /** A seed that identical requests of this caller share, for the ids of the shared resource. */
  #sharedSeed(draft: D, one: string, attempt = 1): Seed {
    const { keyId, personId } = this.#caller.spender
    return {
      parts: ["one", keyId ?? "", personId ?? "", canonicalJson(draft), one, String(attempt)],
      isKeyed: true,
      next: async () => this.#sharedSeed(draft, one, attempt + 1),
    }
  }

  /** Begins the shared resource, or continues from the state that an identical concurrent request left. */
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
        // The resource failed during this request, so both requests answer that outcome. An abandoned resource
        // never began and has no outcome: the next attempt begins.
        const hasOutcome = isUndone && view !== "abandoned"
        const isOver = hasOutcome && (await this.#spec.shared?.(ports, draft)) !== one
        if (isOver) return this.#reply(draft, named)
        seed = found.seed
        continue
      }
      const prepared = await this.#prepare(draft)
      if (isRejected(prepared)) {
        // The obstacle may be the resource itself, which an identical request just began.
        const { view } = await this.#status(draft, named)
        if (view === null) return { ok: false, refusal: prepared.refusal }
        continue
      }
      const answer = await this.#chargeAndRecord(draft, prepared, named, searchedTo)
      if (answer !== "again" && answer !== "look again") return answer
    }
  }

  /** Finds how far an earlier request of this attempt got, and continues from there. */
  async resume(): Promise<ResumeResult<R, number>> {
    const { seed } = this.#input
    const draft = await this.#spec.draft(this.#ports, this.#caller, this.#input)
    if (isRejected(draft)) return { seed }
    const named = this.#attemptIds(seed)
    try {
      return await this.#continueAttempt(draft as WithoutRejection<D>, named, seed)
    } catch (error) {
      // The earlier request may have charged, so any other error leaves the outcome unknown.
      throw error instanceof ClaimLost ? error : unknownChargeOutcome(error, named.chargeId)
    }
  }

  #attemptIds({ parts }: Seed): AttemptIds<Id> {
    const { paidResource, chargeId } = this.#spec
    const id = derivedId(paidResource.prefix, ...parts) as Id
    return { id, chargeId: chargeId?.(id) ?? derivedId("chg", ...parts) }
  }

  #resolve(draft: WithoutRejection<D>, id: Id): PaidResourceReference<Id, C, S, E, N> {
    const { paidResource, chargeResource } = this.#spec
    const named = chargeResource?.(draft, id) ?? id
    const at = paidResource.resolve(this.#caller.companyId, named)
    if (at === null) throw new Error(`${named} is not a ${paidResource.prefix}`)
    return at
  }

  /** Reads the resource's status in its stream. */
  async #status(draft: WithoutRejection<D>, { id }: AttemptIds<Id>) {
    const { paidResource } = this.#spec
    const view = await this.#ports.runner.read(
      this.#resolve(draft, id).stream,
      paidResource.view(id),
    )
    if (view === "abandoned") return { view, isUndone: true }
    return { view, isUndone: view !== null && paidResource.status(view).isVoid }
  }

  /** Reads the stream first: only a charge whose intent is not there has nothing else that ends it. */
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
    // A settled charge paid for finished work, even if its stream has forgotten the resource.
    if (row?.state === "final") return { reply: await this.#reply(draft, named) }
    if (row?.state === "given_back") return { seed: await seed.next() }
    if (row === null) return { seed }
    const prepared = await this.#prepare(draft)
    if (isRejected(prepared)) return { seed }
    const made = { ...named, chargedMicros: -row.amount_micros, item: row.item }
    // The earlier reservation may have been released since.
    const held = await this.#spec.slotReservation?.reserve(this.#ports, this.#caller, draft, named)
    const reply =
      held === undefined || held === null
        ? await this.#record(draft, prepared, made)
        : await this.#refund(made, held.refusal)
    return reply === "again" ? { seed: await seed.next() } : { reply }
  }

  /**
   * @param searchedTo ledger revision up to which no charge has this id; null if none can exist
   * @returns `"look again"` if an identical request charged meanwhile
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
    const resource = this.#spec.chargeResource?.(draft, named.id) ?? named.id
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

  /** Makes the pending charge; returns the amount charged now or by an earlier request. */
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
    // Ids derived from the request itself need no search.
    if (made === "search again") throw new Error(`charge ${chargeId} must be searched for`)
    // It was charged before, perhaps for another variant or at another price.
    const { row } = await lookUpCharge(ports, this.#caller.companyId, chargeId)
    if (row === null) return { chargedMicros: price.amountMicros, item: price.item }
    return { chargedMicros: -row.amount_micros, item: row.item }
  }

  /**
   * Records the intent of the paid resource; refunds the charge if the stream rejects it. Any other error
   * leaves a pending charge, so the outcome is unknown.
   */
  async #record(
    draft: WithoutRejection<D>,
    prepared: WithoutRejection<T>,
    made: PaidAttempt<Id>,
  ): Promise<PaidCallReply<R> | "again"> {
    const { paidResource, command, toRefusal } = this.#spec
    const ports = this.#ports
    const caller = this.#caller
    try {
      const { id, stream } = this.#resolve(draft, made.id)
      const asked = await command(ports, caller, draft, made, prepared)
      const done = await ports.runner.execute(stream, asked, causeOf(caller), paidResource.view(id))
      if (done.accepted && done.view !== null && done.view !== "abandoned") {
        const { view, facts, position } = done
        // If an identical request recorded it before, the position is that request's.
        return await this.#reply(
          draft,
          made,
          { view, facts, prepared },
          facts.length > 0 ? position : null,
        )
      }
      await paidResource.onAbandoned?.(ports, caller.companyId, id)
      return await this.#refund(made, done.accepted ? null : (toRefusal?.(done.refusal) ?? null))
    } catch (error) {
      throw unknownChargeOutcome(error, chargeIdOf(made))
    }
  }

  /** Refunds the charge; returns the refusal, or `"again"` without one for the next attempt. */
  async #refund(
    made: PaidAttempt<Id>,
    refusal: Refusal | null,
  ): Promise<PaidCallReply<R> | "again"> {
    const { chargeId } = made
    if (made.item === null) return refusal === null ? "again" : { ok: false, refusal }
    const refund = { amountMicros: null, reason: this.#spec.refundReason }
    const { companyId } = this.#caller
    const position = await refundCharge(
      this.#ports,
      companyId,
      chargeId,
      refund,
      causeOf(this.#caller),
    )
    return refusal === null ? "again" : { ok: false, refusal, position }
  }

  /**
   * Answers for a recorded resource, immediately or after its outcome.
   *
   * @param known this request's knowledge of the resource; absent if its stream may have forgotten it
   * @throws OutcomeUnknown if the outcome is not known in time
   */
  async #reply(
    draft: WithoutRejection<D>,
    named: AttemptIds<Id> | PaidAttempt<Id>,
    known?: KnownResource<V, E, WithoutRejection<T>>,
    position: PaidReply<R>["position"] = null,
  ): Promise<PaidCallReply<R>> {
    const { paidResource, answer, forgottenAnswer, outcomeWait } = this.#spec
    const ports = this.#ports
    const { id } = named
    const found =
      outcomeWait !== undefined
        ? await this.#waitForOutcome(draft, id)
        : known !== undefined
          ? await answer(ports, draft, id, known)
          : ((await forgottenAnswer?.(ports, draft, id)) ?? null)
    if (found === null) throw new OutcomeUnknown(`the outcome of ${id} is not known yet`)
    if ("refusal" in found) return { ok: false, refusal: found.refusal }
    // A retry cannot know from its ids alone whether the resource was free.
    const chargeId =
      known === undefined ? chargeIdOf(named) : paidResource.status(known.view).chargeId
    const charge = chargeId === null ? {} : { chargeId }
    return { ok: true, body: found.reply, position: found.position ?? position, ...charge }
  }

  /** Runs the resource's job, or waits for the process that runs it; returns the outcome as far as it is known. */
  async #waitForOutcome(
    draft: WithoutRejection<D>,
    id: Id,
  ): Promise<PaidReply<R> | Rejection | null> {
    const { paidResource, answer, outcomeWait, jobs } = this.#spec
    const ports = this.#ports
    const { companyId } = this.#caller
    const { stream } = this.#resolve(draft, id)
    let last: V | null = null
    const look = async () => {
      const view = await ports.runner.readLatest(stream, paidResource.view(id))
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

/** Returns the id of the attempt's charge; null if it is known to be free. */
function chargeIdOf(named: AttemptIds<string> | PaidAttempt<string>): ChargeId | null {
  return "item" in named && named.item === null ? null : named.chargeId
}

/**
 * Runs a job, or waits for the process that runs it, until its outcome is known.
 *
 * @param look reads the recorded outcome; null while there is none
 * @returns null if the outcome is not known in time, the job was postponed, or this process stops first
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
  // After this process ran or postponed the job, waiting longer cannot help.
  let isOver = await trueAfterTimeout(pacer, ports.runJobNow(job, stopping), withinMs)
  for (let wasThere = false; ;) {
    // Read the job before the outcome, so that an outcome recorded in between is found.
    const row = isOver ? null : await jobs.findByName(job.kind, job.name)
    isOver ||= row === null ? wasThere : isDeferred(row, clock.now())
    wasThere = row !== null
    const found = await look()
    if (found !== null || isOver || stopping.aborted || pacer.elapsedMs() >= until) return found
    await pacer.pause(POLL_EVERY_MS, stopping)
  }
}

/** Whether a job waits for a later time or an operator. A short retry delay does not count. */
const isDeferred = ({ stuck, dueAt }: ListedJob, now: number): boolean =>
  stuck !== null || Date.parse(dueAt) > now

/** Resolves with the result of a promise, or with true after a timeout; the work itself continues. */
async function trueAfterTimeout(
  pacer: Pacer,
  doing: Promise<boolean>,
  withinMs: number,
): Promise<boolean> {
  const done = new AbortController()
  const late = pacer.pause(withinMs, done.signal).then(() => true)
  return Promise.race([doing, late]).finally(() => done.abort())
}
