/**
 * An effect, as data: a fact records the intent, a provider carries it out, its status may be checked, and
 * another fact records the outcome.
 *
 * The job of the intent drives it, in the waiting request, a worker, or another process after a crash. It is
 * marked as dispatched before the provider is called. A dispatched job first checks the status; it calls
 * the provider again only if the provider does not know the request and accepts the same id twice.
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

/** The lease lasts a minute from the dispatch; a later confirmation may find it lost. */
const DISPATCH_CONFIRMED_WITHIN_MS = 30_000

/** Status of an intent's resource in its own stream. */
export type IntentStatus = "open" | "ended" | "not there"

/** An effect. `A` is the type of its provider's answers. */
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
  /** Kind of the job that only checks the status after an unknown outcome; default the kind itself. */
  readonly checkKind?: string
  /** Name of the provider for messages: `the carrier`. */
  readonly provider: string
  /** Name of the resource for messages: `this text`. */
  readonly label: string
  /** Reason for a stuck job whose intent is in no stream. */
  readonly missingReason: string
  /** When the intent was recorded, UTC milliseconds; its times count from here. */
  readonly startedAt: (payload: P) => number
  /** Subject of the job while it only checks the status, so that other jobs can proceed; default its subject. */
  readonly checkSubject?: (payload: P) => string
  /** Reads the status. If the resource has ended, this also does what follows from its end. */
  readonly checkStatus: (ports: Ports, work: Job<P>, cause: Cause) => Promise<IntentStatus>
  /**
   * Calls the provider. Null if only the request that recorded the intent can (it has a secret that is not
   * stored); then the job only checks the status. Run steps after an accepted request in `withUnknownOutcome`.
   *
   * @throws ProviderUnavailable, ProviderOutcomeUnknown
   */
  readonly callProvider: ((ports: Ports, work: Job<P>) => Promise<A>) | null
  /**
   * Asks the provider for the outcome. Null if the provider has no such query; then an idempotent request is
   * sent again once, and the job becomes stuck if that outcome is unknown too.
   *
   * @throws ProviderUnavailable, ProviderOutcomeUnknown
   */
  readonly checkProvider: ((ports: Ports, work: Job<P>) => Promise<NoInfer<A> | "unknown">) | null
  /** Whether the provider accepts the same id twice for the same resource, so that a retry is safe. */
  readonly isIdempotent: (ports: Ports) => boolean
  /** Records the outcome and ends the charge; false if the outcome is not final yet. */
  readonly recordOutcome: (
    ports: Ports,
    work: Job<P>,
    answer: NoInfer<A>,
    cause: Cause,
  ) => Promise<boolean>
  readonly times?: Partial<EffectTimes>
  /** Timeout for the provider's answer to a request or a status check, milliseconds; default ten seconds. */
  readonly timeoutMs?: number
  /**
   * Outcome recorded immediately if the provider stayed unavailable and did nothing. Absent: the status is
   * checked, or, if it cannot be, `notReceivedOutcome` applies.
   */
  readonly unavailableOutcome?: NoInfer<A>
  /** Outcome of an effect that the provider never received; null if the provider cannot confirm that yet. */
  readonly notReceivedOutcome: (ports: Ports, work: Job<P>) => Promise<NoInfer<A> | null>
  /** Outcome of an effect that an operator discarded, or that ends with its company. */
  readonly discardedOutcome: NoInfer<A>
}

/** The reactions of an effect: one performs it, the other checks its status. */
export type EffectJobs<P> = readonly [ReactionOf<P>, ...Reaction[]]

/** Declares an effect. */
export function effect<P extends object, A>(spec: EffectSpec<P, A>): EffectJobs<P> {
  const { checkKind, on: _from, concurrency: _concurrency, isLong: _isLong, ...shared } = spec
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
  // A stuck job may be dispatched: its status is checked first, so any retry time is safe.
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

/** One run of an effect's job. */
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

  /** Reads the status, and calls the provider if the resource is open. */
  async run(): Promise<JobResult> {
    const { callProvider, checkProvider } = this.#spec
    if (callProvider === null) return this.checkOnly()
    if (await this.#isBeingChecked()) return { result: "done" }
    const ended = await this.#checkStatus()
    if (ended !== null) return ended
    const work = this.#job
    if (!work.isDispatched) return this.#callProvider(callProvider)
    if (checkProvider === null)
      return this.#isRepeatable() ? this.#callProvider(callProvider) : this.#stuckUncheckable()
    const known = await this.#checkProvider(checkProvider)
    if (known !== null && known !== "unknown") return this.#recordOutcome(known)
    if (known === "unknown" && this.#isRepeatable()) return this.#callProvider(callProvider)
    return this.#checkFrom(this.#now() + this.#times.checkAfterMs[0])
  }

  /** Checks the status with the provider; an outcome that stays unknown ends after its time. */
  async checkOnly(): Promise<JobResult> {
    const ended = await this.#checkStatus()
    if (ended !== null) return ended
    const { callProvider, checkProvider, provider, label } = this.#spec
    const { notReceivedAfterMs, stuckAfterMs } = this.#times
    if (checkProvider === null) return this.#stuckUncheckable()
    const ageMs = this.#ageMs()
    // An operator may retry it early, while the request that recorded the intent is about to call the provider.
    const [first] = this.#times.checkAfterMs
    if (callProvider === null && ageMs < first)
      return { result: "rescheduled", dueAt: this.#startedAt() + first }
    const known = await this.#checkProvider(checkProvider)
    const isNo = known === "unknown" && ageMs >= notReceivedAfterMs
    const answer = isNo ? await this.#spec.notReceivedOutcome(this.#ports, this.#job) : known
    if (answer !== null && answer !== "unknown") return this.#recordOutcome(answer)
    if (answer === null && ageMs >= stuckAfterMs) {
      const reason = `${provider} has given no outcome for ${label} in ${formatDuration(stuckAfterMs)}`
      return { result: "stuck", reason }
    }
    const waitMs = nextCheckDelayMs(ageMs, answer === null ? null : notReceivedAfterMs, this.#times)
    return { result: "rescheduled", dueAt: this.#now() + waitMs }
  }

  /** Whether a request ran the job before its fact enqueued it, and a status check has replaced that job. */
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

  /** Returns the provider's knowledge of the request; null if it does not answer in time. */
  #checkProvider(
    ask: NonNullable<EffectSpec<P, A>["checkProvider"]>,
  ): Promise<A | "unknown" | null> {
    const { provider, timeoutMs } = this.#spec
    return providerResultOrNull(this.#ports.pacer, provider, ask(this.#ports, this.#job), timeoutMs)
  }

  /** Returns the result for a job that needs no provider; null if the resource is open. */
  async #checkStatus(): Promise<JobResult | null> {
    switch (await this.#spec.checkStatus(this.#ports, this.#job, this.#cause)) {
      case "ended":
        return { result: "done" }
      case "not there":
        return { result: "stuck", reason: this.#spec.missingReason }
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
      if (error === STOP_REASON) return { result: "released" }
      if (error instanceof ProviderOutcomeUnknown) {
        const isLast = checkProvider === null && (this.#job.isDispatched || !this.#isRepeatable())
        if (isLast) return this.#stuckUncheckable()
        return this.#checkFrom(this.#now() + this.#times.checkAfterMs[0])
      }
      if (!(error instanceof ProviderUnavailable)) throw error
      return this.#unavailable(error)
    }
  }

  /** Waits for the provider's answer, but not beyond a stop: the job's next run checks the status. */
  async #unlessStopped(answer: Promise<A>): Promise<A> {
    const { signal } = this.#job
    const stopped = Promise.withResolvers<never>()
    const stop = () => {
      // If only the lease was lost, the answer is still worth recording.
      if (signal.reason === STOP_REASON) stopped.reject(STOP_REASON)
    }
    signal.addEventListener("abort", stop)
    try {
      return await Promise.race([answer, stopped.promise])
    } finally {
      signal.removeEventListener("abort", stop)
    }
  }

  /** Handles a provider that did nothing: retries until the time for that is over. */
  async #unavailable(error: ProviderUnavailable): Promise<JobResult> {
    const { provider, checkProvider, unavailableOutcome } = this.#spec
    const isMisconfigured = error instanceof ProviderMisconfigured
    // An earlier dispatch may have succeeded even if this one did nothing.
    const mayBeDone = this.#job.isDispatched
    if (this.#ageMs() < this.#times.retryUnavailableForMs) {
      const reason = isMisconfigured ? error.message : `${provider} is not available`
      return mayBeDone
        ? retryWithBackoff(this.#job, reason)
        : retryWithBackoff(this.#job, reason, "undone")
    }
    // The request itself is not at fault: an operator fixes the provider's account and retries.
    if (isMisconfigured) return { result: "stuck", reason: error.message }
    if (!mayBeDone && unavailableOutcome !== undefined)
      return this.#recordOutcome(unavailableOutcome)
    // A process that crashed after its dispatch may have reached the provider: check the status.
    if (checkProvider !== null) return this.#checkFrom(this.#now())
    const answer = mayBeDone ? null : await this.#spec.notReceivedOutcome(this.#ports, this.#job)
    return answer === null ? this.#stuckUncheckable() : this.#recordOutcome(answer)
  }

  /**
   * Marks the job as dispatched; returns null on success. Otherwise another process has or may soon have the
   * job, and the provider must not be called.
   */
  async #dispatch(): Promise<JobResult | null> {
    const { pacer, jobs } = this.#ports
    const { jobId, signal, isDispatched } = this.#job
    if (signal.aborted) return { result: "released" }
    const startedMs = pacer.elapsedMs()
    if (!(await jobs.dispatch(jobId))) return { result: "released" }
    const isInTime = pacer.elapsedMs() - startedMs < DISPATCH_CONFIRMED_WITHIN_MS
    if (isInTime && !signal.aborted) return null
    // No request was sent, so a job that was not dispatched before is not dispatched now.
    return isDispatched ? { result: "released" } : { result: "released", isDispatchCleared: true }
  }

  #stuckUncheckable(): JobResult {
    const { provider, label } = this.#spec
    const reason = `${provider} may have done ${label}, gave no answer, and has no status query`
    return { result: "stuck", reason }
  }

  /** Schedules a status check; the provider is not called again. */
  #checkFrom(dueAt: number): JobResult {
    const { checkKind, checkSubject } = this.#spec
    const kind = checkKind === undefined ? {} : { kind: checkKind }
    const subject = checkSubject === undefined ? {} : { subject: checkSubject(this.#job.payload) }
    return { result: "rescheduled", dueAt, ...kind, ...subject }
  }

  async #recordOutcome(answer: A): Promise<JobResult> {
    if (await this.#spec.recordOutcome(this.#ports, this.#job, answer, this.#cause)) {
      return { result: "done" }
    }
    // Without a status query the only way on is to repeat the request, and not endlessly.
    if (this.#spec.checkProvider === null && this.#job.isDispatched) return this.#stuckUncheckable()
    return this.#checkFrom(this.#now() + nextCheckDelayMs(this.#ageMs(), null, this.#times))
  }
}
