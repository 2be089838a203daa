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
  ProviderSilent,
  ProviderUnavailable,
  inTime,
  knownInTime,
} from "../../../adapters/providers/outside.ts"
import type { WorkResult } from "../../../adapters/work/port.ts"
import type { Cause } from "../kernel/envelope.ts"
import { causedBy } from "../kernel/envelope.ts"
import type { Ports } from "../ports.ts"
import { PARK_AFTER_MS, UNKNOWN_IS_NO_AFTER_MS, askAgainAfter } from "./ask-again.ts"
import { retryLater } from "./back-off.ts"
import type { GivenUp, Reaction, ReactionSpec, Work } from "./reaction.ts"
import { reaction } from "./reaction.ts"

const MINUTE_MS = 60_000

/** How the resource of an intent stands by its own stream. */
export type Standing = "open" | "ended" | "not there"

/** An effect. `A` is what its provider can answer. */
export interface EffectSpec<P extends object, A> extends Pick<
  ReactionSpec<P>,
  "kind" | "payload" | "from" | "until" | "atOnce" | "isLong" | "endsWithCompany" | "isPersonal"
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
   * is kept nowhere): then it is only asked about.
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
  readonly ask: ((ports: Ports, work: Work<P>) => Promise<A | "unknown">) | null
  /** Whether the provider takes the same name again for the same thing: then it may be given it again. */
  readonly isRepeatable: (ports: Ports) => boolean
  /** Records what it came to, and ends its charge; false where it has not come to anything yet. */
  readonly end: (ports: Ports, work: Work<P>, answer: A, cause: Cause) => Promise<boolean>
  /** After how long a provider that does not know it never got it; default ten minutes. */
  readonly unknownAfterMs?: number
  /** What one comes to that was never got; null where the provider does not say so yet. */
  readonly unknown: (ports: Ports, work: Work<P>) => Promise<A | null>
  /** What one comes to that an operator gave up, or that ends with its company. */
  readonly givenUp: A
}

/** The reactions of an effect: performing it, and asking about it. */
export function effect<P extends object, A>(spec: EffectSpec<P, A>): readonly Reaction[] {
  const { kind, askKind, payload, from, until, atOnce, isLong } = spec
  const { endsWithCompany, isPersonal } = spec
  const giveUp = async (ports: Ports, work: GivenUp<P>, cause: Cause) => {
    const { signal } = new AbortController()
    await spec.end(ports, { ...work, tries: 0, isHandedOver: true, signal }, spec.givenUp, cause)
    return null
  }
  const shared = {
    payload,
    ...(until === undefined ? {} : { until }),
    ...(endsWithCompany === undefined ? {} : { endsWithCompany }),
    ...(isPersonal === undefined ? {} : { isPersonal }),
    giveUp,
  }
  const performing = reaction<P>({
    ...{ kind, ...shared },
    ...(from === undefined ? {} : { from }),
    ...(atOnce === undefined ? {} : { atOnce }),
    ...(isLong === undefined ? {} : { isLong }),
    perform: (ports, work) => perform(spec, ports, work),
  })
  if (askKind === undefined) return [performing]
  const asking = reaction<P>({
    ...{ kind: askKind, ...shared },
    perform: (ports, work) => askOnly(spec, ports, work),
  })
  return [performing, asking]
}

/** Looks how it stands, and goes on where it is open. */
async function perform<P extends object, A>(
  spec: EffectSpec<P, A>,
  ports: Ports,
  work: Work<P>,
): Promise<WorkResult> {
  if (spec.act === null) return askOnly(spec, ports, work)
  const standing = await look(spec, ports, work)
  if (standing !== null) return standing
  if (!work.isHandedOver) return act(spec, ports, work)
  if (spec.ask === null) {
    return spec.isRepeatable(ports) ? act(spec, ports, work) : parkedUnasked(spec)
  }
  const known = await knownInTime(ports.pacer, spec.provider, spec.ask(ports, work))
  if (known === null) return askFrom(spec, work, ports.clock.now() + MINUTE_MS)
  if (known !== "unknown") return end(spec, ports, work, known)
  if (spec.isRepeatable(ports)) return act(spec, ports, work)
  return askFrom(spec, work, ports.clock.now() + MINUTE_MS)
}

/** The result of work that needs no provider any more; null where it is open. */
async function look<P extends object, A>(
  spec: EffectSpec<P, A>,
  ports: Ports,
  work: Work<P>,
): Promise<WorkResult | null> {
  switch (await spec.look(ports, work, causeOf(work))) {
    case "ended":
      return { result: "done" }
    case "not there":
      return { result: "park", reason: spec.unknownTo }
    case "open":
      return null
  }
}

async function act<P extends object, A>(
  spec: EffectSpec<P, A>,
  ports: Ports,
  work: Work<P>,
): Promise<WorkResult> {
  const { provider } = spec
  await ports.work.handOver(work.workId)
  try {
    const doing = (spec.act as NonNullable<typeof spec.act>)(ports, work)
    return await end(spec, ports, work, await inTime(ports.pacer, provider, doing))
  } catch (error) {
    const now = ports.clock.now()
    if (error instanceof ProviderSilent) {
      const isLast = spec.ask === null && (work.isHandedOver || !spec.isRepeatable(ports))
      return isLast ? parkedUnasked(spec) : askFrom(spec, work, now + MINUTE_MS)
    }
    if (!(error instanceof ProviderUnavailable)) throw error
    // Whoever died before it could say so may have had it done: after three days it is asked about.
    if (now - spec.begunAt(work.payload) >= PARK_AFTER_MS) return askFrom(spec, work, now)
    return retryLater(work, `${provider} is not available`, "undone")
  }
}

/** Nobody can find out what became of it. */
function parkedUnasked<P extends object, A>({ provider, about }: EffectSpec<P, A>): WorkResult {
  const reason = `${provider} may have done ${about}, said nothing, and cannot be asked`
  return { result: "park", reason }
}

/** From here on it is asked about, never done again. */
function askFrom<P extends object, A>(
  { askKind, askSubject }: EffectSpec<P, A>,
  { payload }: Work<P>,
  dueAt: number,
): WorkResult {
  const kind = askKind === undefined ? {} : { kind: askKind }
  const subject = askSubject === undefined ? {} : { subject: askSubject(payload) }
  return { result: "later", dueAt, ...kind, ...subject }
}

/** Asks what became of it; what stays unknown, or unsaid, ends after its time. */
async function askOnly<P extends object, A>(
  spec: EffectSpec<P, A>,
  ports: Ports,
  work: Work<P>,
): Promise<WorkResult> {
  const standing = await look(spec, ports, work)
  if (standing !== null) return standing
  if (spec.ask === null) return parkedUnasked(spec)
  const { provider, about, unknownAfterMs = UNKNOWN_IS_NO_AFTER_MS } = spec
  const begunAt = spec.begunAt(work.payload)
  const ageMs = ports.clock.now() - begunAt
  // An operator may have called it early: whoever recorded it may be about to do it.
  const first = askAgainAfter(0, null)
  if (spec.act === null && ageMs < first) return { result: "later", dueAt: begunAt + first }
  const known = await knownInTime(ports.pacer, provider, spec.ask(ports, work))
  const answer =
    known === "unknown" && ageMs >= unknownAfterMs ? await spec.unknown(ports, work) : known
  if (answer !== null && answer !== "unknown") return end(spec, ports, work, answer)
  if (answer === null && ageMs >= PARK_AFTER_MS) {
    return { result: "park", reason: `${provider} has been silent about ${about} for 72 hours` }
  }
  const waitMs = askAgainAfter(ageMs, answer === null ? null : unknownAfterMs)
  return { result: "later", dueAt: ports.clock.now() + waitMs }
}

async function end<P extends object, A>(
  spec: EffectSpec<P, A>,
  ports: Ports,
  work: Work<P>,
  answer: A,
): Promise<WorkResult> {
  if (await spec.end(ports, work, answer, causeOf(work))) return { result: "done" }
  const ageMs = ports.clock.now() - spec.begunAt(work.payload)
  return askFrom(spec, work, ports.clock.now() + askAgainAfter(ageMs, null))
}

function causeOf({ kind, name }: Pick<Work<unknown>, "kind" | "name">): Cause {
  return causedBy(`${kind} ${name}`)
}
