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
  ProviderSilent,
  ProviderUnavailable,
  inTime,
  knownInTime,
} from "../../../adapters/providers/outside.ts"
import type { WorkResult } from "../../../adapters/postgres/jobs/port.ts"
import type { Cause } from "../kernel/envelope.ts"
import { causedBy } from "../kernel/envelope.ts"
import type { Ports } from "../ports.ts"
import type { EffectTimes } from "./ask-again.ts"
import { USUAL_TIMES, askAgainAfter, inWords, retryLater } from "./ask-again.ts"
import { STOPPED } from "./hand.ts"
import type { GivenUp, Reaction, ReactionOf, ReactionSpec, Work } from "./reaction.ts"
import { AT_ANY_TIME, reaction } from "./reaction.ts"

/** A row is held for a minute from where it is handed over: who hears of that later may have lost it. */
const HEARD_WITHIN_MS = 30_000

/** How the resource of an intent stands by its own stream. */
export type Standing = "open" | "ended" | "not there"

/** An effect. `A` is what its provider can answer. */
export interface EffectSpec<P extends object, A> extends Pick<
  ReactionSpec<P>,
  | "kind"
  | "payload"
  | "from"
  | "until"
  | "atOnce"
  | "isAwaited"
  | "isLong"
  | "endsWithCompany"
  | "isPersonal"
> {
  /** The kind of a row whose provider was silent: it is only asked about. Default the kind itself. */
  readonly askKind?: string
  /** As sentences call it: `the carrier`. */
  readonly provider: string
  /** What it is about, as sentences call it: `this text`. */
  readonly about: string
  /** Why a row is parked whose intent nobody knows. */
  readonly unknownTo: string
  /** When the intent was recorded, UTC milliseconds: its times are counted from there. */
  readonly begunAt: (payload: P) => number
  /** What the row is called while it is only asked about: what else waits may go on. Default its subject. */
  readonly askSubject?: (payload: P) => string
  /** How it stands. Where it has ended, what follows from that is done here, too. */
  readonly look: (ports: Ports, work: Work<P>, cause: Cause) => Promise<Standing>
  /**
   * Has the provider do it. Null where only the call that recorded the intent can (it has a secret that
   * is kept nowhere): then it is only asked about. What follows an accepted request runs in `onceAccepted`.
   *
   * @throws ProviderUnavailable, ProviderSilent
   */
  readonly act: ((ports: Ports, work: Work<P>) => Promise<A>) | null
  /**
   * What the provider knows of it. Null where it cannot be asked: then it is given the same once more, where
   * it takes that, and parked where it is silent again.
   *
   * @throws ProviderUnavailable, ProviderSilent
   */
  readonly ask: ((ports: Ports, work: Work<P>) => Promise<NoInfer<A> | "unknown">) | null
  /** Whether the provider takes the same name again for the same thing: then it may be given it again. */
  readonly isRepeatable: (ports: Ports) => boolean
  /** Records what it came to, and ends its charge; false where it has not come to anything yet. */
  readonly end: (ports: Ports, work: Work<P>, answer: NoInfer<A>, cause: Cause) => Promise<boolean>
  /** Its times, where they are not the usual ones. */
  readonly times?: Partial<EffectTimes>
  /** How long the provider may take to answer, to act and to be asked, milliseconds; default ten seconds. */
  readonly withinMs?: number
  /**
   * What one comes to whose provider did nothing and was not available for its time: it then ends at once.
   * Absent: it is asked about; where it cannot be asked, it was never got.
   */
  readonly unavailable?: NoInfer<A>
  /** What one comes to that was never got; null where the provider does not say so yet. */
  readonly unknown: (ports: Ports, work: Work<P>) => Promise<NoInfer<A> | null>
  /** What one comes to that an operator gave up, or that ends with its company. */
  readonly givenUp: NoInfer<A>
}

/** The reactions of an effect: performing it, and asking about it. */
export type EffectJobs<P> = readonly [ReactionOf<P>, ...Reaction[]]

/** Declares an effect. */
export function effect<P extends object, A>(spec: EffectSpec<P, A>): EffectJobs<P> {
  const { askKind, from: _from, atOnce: _atOnce, isLong: _isLong, ...shared } = spec
  const giveUp = async (ports: Ports, work: GivenUp<P>, cause: Cause) => {
    const { signal } = new AbortController()
    await spec.end(ports, { ...work, tries: 0, isHandedOver: true, signal }, spec.givenUp, cause)
    return null
  }
  // A row that waits was handed over: its provider is asked first, and its times decide what follows.
  const performing = reaction<P>({
    ...spec,
    giveUp,
    mayRunFrom: AT_ANY_TIME,
    perform: (ports, work) => new Turn(spec, ports, work).perform(),
  })
  if (askKind === undefined) return [performing]
  const asking = reaction<P>({
    ...shared,
    kind: askKind,
    giveUp,
    mayRunFrom: AT_ANY_TIME,
    perform: (ports, work) => new Turn(spec, ports, work).askOnly(),
  })
  return [performing, asking]
}

/** An effect's work in hand. */
class Turn<P extends object, A> {
  readonly #spec: EffectSpec<P, A>
  readonly #ports: Ports
  readonly #work: Work<P>
  readonly #cause: Cause
  readonly #times: EffectTimes

  constructor(spec: EffectSpec<P, A>, ports: Ports, work: Work<P>) {
    this.#spec = spec
    this.#ports = ports
    this.#work = work
    this.#cause = causedBy(`${work.kind} ${work.name}`)
    this.#times = { ...USUAL_TIMES, ...spec.times }
  }

  /** Looks how it stands, and goes on where it is open. */
  async perform(): Promise<WorkResult> {
    const { act, ask } = this.#spec
    if (act === null) return this.askOnly()
    if (await this.#isAskedAbout()) return { result: "done" }
    const standing = await this.#look()
    if (standing !== null) return standing
    const work = this.#work
    if (!work.isHandedOver) return this.#act(act)
    if (ask === null) return this.#isRepeatable() ? this.#act(act) : this.#parkedUnasked()
    const known = await this.#ask(ask)
    if (known !== null && known !== "unknown") return this.#end(known)
    if (known === "unknown" && this.#isRepeatable()) return this.#act(act)
    return this.#askFrom(this.#now() + this.#times.askAfterMs[0])
  }

  /** Asks what became of it; what stays unknown, or unsaid, ends after its time. */
  async askOnly(): Promise<WorkResult> {
    const standing = await this.#look()
    if (standing !== null) return standing
    const { act, ask, provider, about } = this.#spec
    const { unknownAfterMs, parkAfterMs } = this.#times
    if (ask === null) return this.#parkedUnasked()
    const ageMs = this.#ageMs()
    // An operator may have called it early: whoever recorded it may be about to do it.
    const [first] = this.#times.askAfterMs
    if (act === null && ageMs < first) return { result: "later", dueAt: this.#begunAt() + first }
    const known = await this.#ask(ask)
    const isNo = known === "unknown" && ageMs >= unknownAfterMs
    const answer = isNo ? await this.#spec.unknown(this.#ports, this.#work) : known
    if (answer !== null && answer !== "unknown") return this.#end(answer)
    if (answer === null && ageMs >= parkAfterMs) {
      const reason = `${provider} has been silent about ${about} for ${inWords(parkAfterMs)}`
      return { result: "park", reason }
    }
    const waitMs = askAgainAfter(ageMs, answer === null ? null : unknownAfterMs, this.#times)
    return { result: "later", dueAt: this.#now() + waitMs }
  }

  /** Whether a request ran it before its fact enqueued it, and another row asks about it by now. */
  async #isAskedAbout(): Promise<boolean> {
    const { isAwaited, askKind } = this.#spec
    if (isAwaited !== true || askKind === undefined || this.#work.isHandedOver) return false
    return (await this.#ports.work.named(askKind, this.#work.name)) !== null
  }

  #now(): number {
    return this.#ports.clock.now()
  }

  #begunAt(): number {
    return this.#spec.begunAt(this.#work.payload)
  }

  #ageMs(): number {
    return Math.max(0, this.#now() - this.#begunAt())
  }

  #isRepeatable(): boolean {
    return this.#spec.isRepeatable(this.#ports)
  }

  /** What the provider knows of it; null where it does not say so in time. */
  #ask(ask: NonNullable<EffectSpec<P, A>["ask"]>): Promise<A | "unknown" | null> {
    const { provider, withinMs } = this.#spec
    return knownInTime(this.#ports.pacer, provider, ask(this.#ports, this.#work), withinMs)
  }

  /** The result of work that needs no provider any more; null where it is open. */
  async #look(): Promise<WorkResult | null> {
    switch (await this.#spec.look(this.#ports, this.#work, this.#cause)) {
      case "ended":
        return { result: "done" }
      case "not there":
        return { result: "park", reason: this.#spec.unknownTo }
      case "open":
        return null
    }
  }

  async #act(act: NonNullable<EffectSpec<P, A>["act"]>): Promise<WorkResult> {
    const { provider, ask, withinMs } = this.#spec
    const notOurs = await this.#handOver()
    if (notOurs !== null) return notOurs
    try {
      const doing = this.#unlessStopped(act(this.#ports, this.#work))
      return await this.#end(await inTime(this.#ports.pacer, provider, doing, withinMs))
    } catch (error) {
      if (error === STOPPED) return { result: "let go" }
      if (error instanceof ProviderSilent) {
        const isLast = ask === null && (this.#work.isHandedOver || !this.#isRepeatable())
        if (isLast) return this.#parkedUnasked()
        return this.#askFrom(this.#now() + this.#times.askAfterMs[0])
      }
      if (!(error instanceof ProviderUnavailable)) throw error
      return this.#unavailable(error)
    }
  }

  /** The provider's answer; at a stop nobody waits for it: who has the row next asks what became of it. */
  async #unlessStopped(answer: Promise<A>): Promise<A> {
    const { signal } = this.#work
    const stopped = Promise.withResolvers<never>()
    const stop = () => {
      // Of a row that another process has by now the answer is still worth keeping.
      if (signal.reason === STOPPED) stopped.reject(STOPPED)
    }
    signal.addEventListener("abort", stop)
    try {
      return await Promise.race([answer, stopped.promise])
    } finally {
      signal.removeEventListener("abort", stop)
    }
  }

  /** The provider did nothing this time: it is tried again until its time is over. */
  async #unavailable(error: ProviderUnavailable): Promise<WorkResult> {
    const { provider, ask, unavailable } = this.#spec
    const isMisconfigured = error instanceof ProviderMisconfigured
    // What was on its way before may have been done then, whatever became of it now.
    const mayBeDone = this.#work.isHandedOver
    if (this.#ageMs() < this.#times.unavailableForMs) {
      const reason = isMisconfigured ? error.message : `${provider} is not available`
      return mayBeDone ? retryLater(this.#work, reason) : retryLater(this.#work, reason, "undone")
    }
    // It says nothing about what was asked for: an operator fixes the provider's account and retries.
    if (isMisconfigured) return { result: "park", reason: error.message }
    if (!mayBeDone && unavailable !== undefined) return this.#end(unavailable)
    // Whoever died before it could say so may have had it done: it is asked about.
    if (ask !== null) return this.#askFrom(this.#now())
    const answer = mayBeDone ? null : await this.#spec.unknown(this.#ports, this.#work)
    return answer === null ? this.#parkedUnasked() : this.#end(answer)
  }

  /**
   * Has it written down that the provider is about to be called; null once it is. Else the row is another
   * process's, or may be by the time that this is known: then the provider must not be called.
   */
  async #handOver(): Promise<WorkResult | null> {
    const { pacer, work } = this.#ports
    const { workId, signal, isHandedOver } = this.#work
    if (signal.aborted) return { result: "let go" }
    const askedMs = pacer.elapsedMs()
    if (!(await work.handOver(workId))) return { result: "let go" }
    const isInTime = pacer.elapsedMs() - askedMs < HEARD_WITHIN_MS
    if (isInTime && !signal.aborted) return null
    // Nothing went out: what was not on its way before is not on its way now.
    return isHandedOver ? { result: "let go" } : { result: "let go", isUndone: true }
  }

  /** Nobody can find out what became of it. */
  #parkedUnasked(): WorkResult {
    const { provider, about } = this.#spec
    const reason = `${provider} may have done ${about}, said nothing, and cannot be asked`
    return { result: "park", reason }
  }

  /** From here on it is asked about, never done again. */
  #askFrom(dueAt: number): WorkResult {
    const { askKind, askSubject } = this.#spec
    const kind = askKind === undefined ? {} : { kind: askKind }
    const subject = askSubject === undefined ? {} : { subject: askSubject(this.#work.payload) }
    return { result: "later", dueAt, ...kind, ...subject }
  }

  async #end(answer: A): Promise<WorkResult> {
    if (await this.#spec.end(this.#ports, this.#work, answer, this.#cause)) {
      return { result: "done" }
    }
    // To be given it again is all that is left where nobody can be asked: that is not done without end.
    if (this.#spec.ask === null && this.#work.isHandedOver) return this.#parkedUnasked()
    return this.#askFrom(this.#now() + askAgainAfter(this.#ageMs(), null, this.#times))
  }
}
