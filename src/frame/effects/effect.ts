/**
 * Something that is done outside, as data: it was recorded as meant (the intent), a provider is to do it
 * (the act), may have to be asked what became of it, and what it came to is recorded (the end).
 *
 * The row of the intent is the one thing that drives it, whoever has it in hand: the call that waits for
 * it, a worker, or another process after a crash. Before the provider is called the row says so; a row
 * that says so is asked about first, and performed again only where the provider does not know it and
 * takes the same name twice for the same thing.
 */
import {
  ProviderMisconfigured,
  ProviderOutcomeUnknown,
  ProviderUnavailable,
  withProviderTimeout,
  providerResultOrNull,
} from "../../../adapters/providers/provider-errors.ts"
import type { JobResult } from "../../../adapters/postgres/jobs/port.ts"
import type { Cause } from "../kernel/envelope.ts"
import { causedBy } from "../kernel/envelope.ts"
import type { Ports } from "../ports.ts"
import type { EffectTimes } from "./effect-times.ts"
import {
  DEFAULT_EFFECT_TIMES,
  nextCheckDelayMs,
  formatDuration,
  retryWithBackoff,
} from "./effect-times.ts"
import { STOP_REASON } from "./running-jobs.ts"
import type { DiscardedJob, Reaction, ReactionOf, ReactionSpec, Job } from "./reaction.ts"
import { AT_ANY_TIME, reaction } from "./reaction.ts"

/** A row is held for a minute from where it is handed over: who hears of that later may have lost it. */
const DISPATCH_CONFIRMED_WITHIN_MS = 30_000

/** How the resource of an intent stands by its own stream. */
export type JobStatus = "open" | "ended" | "not there"

/** An effect. `A` is what its provider can answer. */
export interface EffectSpec<P extends object, A> extends Pick<
  ReactionSpec<P>,
  | "kind"
  | "payload"
  | "on"
  | "endOn"
  | "concurrency"
  | "isAwaited"
  | "isLong"
  | "isDiscardedOnErasure"
  | "hasPersonalData"
> {
  /** The kind of a row whose provider was silent: it is only asked about. Default the kind itself. */
  readonly checkKind?: string
  /** As sentences call it: `the carrier`. */
  readonly provider: string
  /** What it is about, as sentences call it: `this text`. */
  readonly thingName: string
  /** Why a row is parked whose intent nobody knows. */
  readonly missingReason: string
  /** When the intent was recorded, UTC milliseconds: its times are counted from there. */
  readonly startedAt: (payload: P) => number
  /** What the row is called while it is only asked about: what else waits may go on. Default its subject. */
  readonly checkSubject?: (payload: P) => string
  /** How it stands. Where it has ended, what follows from that is done here, too. */
  readonly checkStatus: (ports: Ports, work: Job<P>, cause: Cause) => Promise<JobStatus>
  /**
   * Has the provider do it. Null where only the call that recorded the intent can (it has a secret that
   * is kept nowhere): then it is only asked about. What follows an accepted request runs in `withUnknownOutcome`.
   *
   * @throws ProviderUnavailable, ProviderOutcomeUnknown
   */
  readonly callProvider: ((ports: Ports, work: Job<P>) => Promise<A>) | null
  /**
   * What the provider knows of it. Null where it cannot be asked: then it is given the same once more, where
   * it takes that, and parked where it is silent again.
   *
   * @throws ProviderUnavailable, ProviderOutcomeUnknown
   */
  readonly checkProvider: ((ports: Ports, work: Job<P>) => Promise<NoInfer<A> | "unknown">) | null
  /** Whether the provider takes the same name again for the same thing: then it may be given it again. */
  readonly isIdempotent: (ports: Ports) => boolean
  /** Records what it came to, and ends its charge; false where it has not come to anything yet. */
  readonly recordOutcome: (
    ports: Ports,
    work: Job<P>,
    answer: NoInfer<A>,
    cause: Cause,
  ) => Promise<boolean>
  /** Its times, where they are not the usual ones. */
  readonly times?: Partial<EffectTimes>
  /** How long the provider may take to answer, to act and to be asked, milliseconds; default ten seconds. */
  readonly timeoutMs?: number
  /**
   * What one comes to whose provider did nothing and was not available for its time: it then ends at once.
   * Absent: it is asked about; where it cannot be asked, it was never got.
   */
  readonly unavailableOutcome?: NoInfer<A>
  /** What one comes to that was never got; null where the provider does not say so yet. */
  readonly notReceivedOutcome: (ports: Ports, work: Job<P>) => Promise<NoInfer<A> | null>
  /** What one comes to that an operator gave up, or that ends with its company. */
  readonly discardedOutcome: NoInfer<A>
}

/** The reactions of an effect: performing it, and asking about it. */
export type EffectJobs<P> = readonly [ReactionOf<P>, ...Reaction[]]

/** Declares an effect. */
export function effect<P extends object, A>(spec: EffectSpec<P, A>): EffectJobs<P> {
  const { checkKind, on: _from, concurrency: _atOnce, isLong: _isLong, ...shared } = spec
  const discard = async (ports: Ports, work: DiscardedJob<P>, cause: Cause) => {
    const { signal } = new AbortController()
    await spec.recordOutcome(
      ports,
      { ...work, attempts: 0, isDispatched: true, signal },
      spec.discardedOutcome,
      cause,
    )
    return null
  }
  // A row that waits was handed over: its provider is asked first, and its times decide what follows.
  const performing = reaction<P>({
    ...spec,
    discard,
    earliestRetryAt: AT_ANY_TIME,
    perform: (ports, work) => new EffectRun(spec, ports, work).run(),
  })
  if (checkKind === undefined) return [performing]
  const asking = reaction<P>({
    ...shared,
    kind: checkKind,
    discard,
    earliestRetryAt: AT_ANY_TIME,
    perform: (ports, work) => new EffectRun(spec, ports, work).checkOnly(),
  })
  return [performing, asking]
}

/** An effect's work in hand. */
class EffectRun<P extends object, A> {
  readonly #spec: EffectSpec<P, A>
  readonly #ports: Ports
  readonly #job: Job<P>
  readonly #cause: Cause
  readonly #times: EffectTimes

  constructor(spec: EffectSpec<P, A>, ports: Ports, work: Job<P>) {
    this.#spec = spec
    this.#ports = ports
    this.#job = work
    this.#cause = causedBy(`${work.kind} ${work.name}`)
    this.#times = { ...DEFAULT_EFFECT_TIMES, ...spec.times }
  }

  /** Looks how it stands, and goes on where it is open. */
  async run(): Promise<JobResult> {
    const { callProvider, checkProvider } = this.#spec
    if (callProvider === null) return this.checkOnly()
    if (await this.#isBeingChecked()) return { result: "done" }
    const standing = await this.#checkStatus()
    if (standing !== null) return standing
    const work = this.#job
    if (!work.isDispatched) return this.#callProvider(callProvider)
    if (checkProvider === null)
      return this.#isRepeatable() ? this.#callProvider(callProvider) : this.#stuckUncheckable()
    const known = await this.#checkProvider(checkProvider)
    if (known !== null && known !== "unknown") return this.#recordOutcome(known)
    if (known === "unknown" && this.#isRepeatable()) return this.#callProvider(callProvider)
    return this.#checkFrom(this.#now() + this.#times.checkAfterMs[0])
  }

  /** Asks what became of it; what stays unknown, or unsaid, ends after its time. */
  async checkOnly(): Promise<JobResult> {
    const standing = await this.#checkStatus()
    if (standing !== null) return standing
    const { callProvider, checkProvider, provider, thingName } = this.#spec
    const { notReceivedAfterMs, stuckAfterMs } = this.#times
    if (checkProvider === null) return this.#stuckUncheckable()
    const ageMs = this.#ageMs()
    // An operator may have called it early: whoever recorded it may be about to do it.
    const [first] = this.#times.checkAfterMs
    if (callProvider === null && ageMs < first)
      return { result: "later", dueAt: this.#startedAt() + first }
    const known = await this.#checkProvider(checkProvider)
    const isNo = known === "unknown" && ageMs >= notReceivedAfterMs
    const answer = isNo ? await this.#spec.notReceivedOutcome(this.#ports, this.#job) : known
    if (answer !== null && answer !== "unknown") return this.#recordOutcome(answer)
    if (answer === null && ageMs >= stuckAfterMs) {
      const reason = `${provider} has been silent about ${thingName} for ${formatDuration(stuckAfterMs)}`
      return { result: "park", reason }
    }
    const waitMs = nextCheckDelayMs(ageMs, answer === null ? null : notReceivedAfterMs, this.#times)
    return { result: "later", dueAt: this.#now() + waitMs }
  }

  /** Whether a request ran it before its fact enqueued it, and another row asks about it by now. */
  async #isBeingChecked(): Promise<boolean> {
    const { isAwaited, checkKind } = this.#spec
    if (isAwaited !== true || checkKind === undefined || this.#job.isDispatched) return false
    return (await this.#ports.jobs.findByName(checkKind, this.#job.name)) !== null
  }

  #now(): number {
    return this.#ports.clock.now()
  }

  #startedAt(): number {
    return this.#spec.startedAt(this.#job.payload)
  }

  #ageMs(): number {
    return Math.max(0, this.#now() - this.#startedAt())
  }

  #isRepeatable(): boolean {
    return this.#spec.isIdempotent(this.#ports)
  }

  /** What the provider knows of it; null where it does not say so in time. */
  #checkProvider(
    ask: NonNullable<EffectSpec<P, A>["checkProvider"]>,
  ): Promise<A | "unknown" | null> {
    const { provider, timeoutMs } = this.#spec
    return providerResultOrNull(this.#ports.pacer, provider, ask(this.#ports, this.#job), timeoutMs)
  }

  /** The result of work that needs no provider any more; null where it is open. */
  async #checkStatus(): Promise<JobResult | null> {
    switch (await this.#spec.checkStatus(this.#ports, this.#job, this.#cause)) {
      case "ended":
        return { result: "done" }
      case "not there":
        return { result: "park", reason: this.#spec.missingReason }
      case "open":
        return null
    }
  }

  async #callProvider(act: NonNullable<EffectSpec<P, A>["callProvider"]>): Promise<JobResult> {
    const { provider, checkProvider, timeoutMs } = this.#spec
    const notOurs = await this.#dispatch()
    if (notOurs !== null) return notOurs
    try {
      const doing = this.#unlessStopped(act(this.#ports, this.#job))
      return await this.#recordOutcome(
        await withProviderTimeout(this.#ports.pacer, provider, doing, timeoutMs),
      )
    } catch (error) {
      if (error === STOP_REASON) return { result: "let go" }
      if (error instanceof ProviderOutcomeUnknown) {
        const isLast = checkProvider === null && (this.#job.isDispatched || !this.#isRepeatable())
        if (isLast) return this.#stuckUncheckable()
        return this.#checkFrom(this.#now() + this.#times.checkAfterMs[0])
      }
      if (!(error instanceof ProviderUnavailable)) throw error
      return this.#unavailable(error)
    }
  }

  /** The provider's answer; at a stop nobody waits for it: who has the row next asks what became of it. */
  async #unlessStopped(answer: Promise<A>): Promise<A> {
    const { signal } = this.#job
    const stopped = Promise.withResolvers<never>()
    const stop = () => {
      // Of a row that another process has by now the answer is still worth keeping.
      if (signal.reason === STOP_REASON) stopped.reject(STOP_REASON)
    }
    signal.addEventListener("abort", stop)
    try {
      return await Promise.race([answer, stopped.promise])
    } finally {
      signal.removeEventListener("abort", stop)
    }
  }

  /** The provider did nothing this time: it is tried again until its time is over. */
  async #unavailable(error: ProviderUnavailable): Promise<JobResult> {
    const { provider, checkProvider, unavailableOutcome } = this.#spec
    const isMisconfigured = error instanceof ProviderMisconfigured
    // What was on its way before may have been done then, whatever became of it now.
    const mayBeDone = this.#job.isDispatched
    if (this.#ageMs() < this.#times.retryUnavailableForMs) {
      const reason = isMisconfigured ? error.message : `${provider} is not available`
      return mayBeDone
        ? retryWithBackoff(this.#job, reason)
        : retryWithBackoff(this.#job, reason, "undone")
    }
    // It says nothing about what was asked for: an operator fixes the provider's account and retries.
    if (isMisconfigured) return { result: "park", reason: error.message }
    if (!mayBeDone && unavailableOutcome !== undefined)
      return this.#recordOutcome(unavailableOutcome)
    // Whoever died before it could say so may have had it done: it is asked about.
    if (checkProvider !== null) return this.#checkFrom(this.#now())
    const answer = mayBeDone ? null : await this.#spec.notReceivedOutcome(this.#ports, this.#job)
    return answer === null ? this.#stuckUncheckable() : this.#recordOutcome(answer)
  }

  /**
   * Has it written down that the provider is about to be called; null once it is. Else the row is another
   * process's, or may be by the time that this is known: then the provider must not be called.
   */
  async #dispatch(): Promise<JobResult | null> {
    const { pacer, jobs } = this.#ports
    const { jobId, signal, isDispatched } = this.#job
    if (signal.aborted) return { result: "let go" }
    const askedMs = pacer.elapsedMs()
    if (!(await jobs.dispatch(jobId))) return { result: "let go" }
    const isInTime = pacer.elapsedMs() - askedMs < DISPATCH_CONFIRMED_WITHIN_MS
    if (isInTime && !signal.aborted) return null
    // Nothing went out: what was not on its way before is not on its way now.
    return isDispatched ? { result: "let go" } : { result: "let go", isDispatchCleared: true }
  }

  /** Nobody can find out what became of it. */
  #stuckUncheckable(): JobResult {
    const { provider, thingName } = this.#spec
    const reason = `${provider} may have done ${thingName}, said nothing, and cannot be asked`
    return { result: "park", reason }
  }

  /** From here on it is asked about, never done again. */
  #checkFrom(dueAt: number): JobResult {
    const { checkKind, checkSubject } = this.#spec
    const kind = checkKind === undefined ? {} : { kind: checkKind }
    const subject = checkSubject === undefined ? {} : { subject: checkSubject(this.#job.payload) }
    return { result: "later", dueAt, ...kind, ...subject }
  }

  async #recordOutcome(answer: A): Promise<JobResult> {
    if (await this.#spec.recordOutcome(this.#ports, this.#job, answer, this.#cause)) {
      return { result: "done" }
    }
    // To be given it again is all that is left where nobody can be asked: that is not done without end.
    if (this.#spec.checkProvider === null && this.#job.isDispatched) return this.#stuckUncheckable()
    return this.#checkFrom(this.#now() + nextCheckDelayMs(this.#ageMs(), null, this.#times))
  }
}
