/**
 * Whom a company must not write to, and from which of its sending domains people are offered that.
 *
 * Stream `suppressions-<companyId>`. Who cannot be reached is written to from none of the company's sending
 * domains; who asked for it, not from that one: a click on an offer must not stop sign-in codes. The state
 * is the set of those; a checkpoint bounds the time to load it.
 */
import type { CheckpointFormat, Decider, DecisionStamp } from "../kernel/decider.ts"
import { unreachable } from "../kernel/decider.ts"
import type { FactOf, EventFormats } from "../kernel/event-format.ts"
import { codecOf, flag, enumOf, optional, asciiText, instant } from "../kernel/event-format.ts"
import { sealedText } from "../kernel/id-field-types.ts"
import type { AddressTag } from "./ids.ts"
import { addressTag } from "./ids.ts"

/**
 * Status codes (RFC 3463): no such mailbox or domain, bad syntax, moved, no mail accepted, mailbox disabled.
 * A full mailbox (5.2.2), a mail that is too large (5.2.3) and a policy (5.7.x) say nothing of the kind.
 */
const DEAD_STATUSES: ReadonlySet<string> = new Set([
  "5.1.0",
  "5.1.1",
  "5.1.2",
  "5.1.3",
  "5.1.6",
  "5.1.10",
  "5.2.1",
])

/**
 * Reply codes (RFC 5321, RFC 7504) of servers that add no status code: mailbox unavailable, user not local,
 * mailbox name not allowed, domain does not accept mail. 552 is a full mailbox, 554 anything.
 */
const DEAD_REPLIES: ReadonlySet<string> = new Set(["550", "551", "553", "556"])

/** Whether a code that a mail bounced with means that its address is dead: it is not to be written to again. */
export const isDeadAddressCode = (code: string | null): boolean =>
  code !== null && (DEAD_STATUSES.has(code) || DEAD_REPLIES.has(code))

/** Why somebody is not written to. */
const SUPPRESSION_REASONS = ["bounced", "unsubscribed"] as const

/** Everything that can happen to whom a company must not write to. */
export const suppressionFormats = {
  /** Somebody must not be written to from here on. */
  RecipientSuppressed: {
    version: 1,
    fields: {
      at: instant,
      tag: addressTag,
      /** As `formatMailbox` writes it. */
      to: sealedText,
      reason: enumOf(...SUPPRESSION_REASONS),
      /** From which sending domain; null for all of the company's. */
      sendingDomainId: optional(asciiText),
    },
  },
  /** Somebody may be written to again, from every sending domain. */
  SuppressionLifted: { version: 1, fields: { at: instant, tag: addressTag } },
  /** Mails from a sending domain offer not to be written to again, or do so no more. */
  UnsubscribeSwitched: {
    version: 1,
    fields: { at: instant, sendingDomainId: asciiText, isOn: flag },
  },
} satisfies EventFormats

/** Everything that can happen to whom a company must not write to. */
export type SuppressionEvent = FactOf<typeof suppressionFormats>

/** One of these facts. */
export type SuppressionFact<T extends SuppressionEvent["type"]> = Extract<
  SuppressionEvent,
  { readonly type: T }
>

/** Writes and reads the facts about whom a company must not write to. */
export const suppressionCodec = codecOf(suppressionFormats)

type Command<T extends SuppressionEvent["type"], Type extends string> = {
  readonly type: Type
} & Omit<SuppressionFact<T>, "type" | "at">

/** What can be asked; what stands already: nothing new. */
export type SuppressionCommand =
  | Command<"RecipientSuppressed", "SuppressRecipient">
  | Command<"SuppressionLifted", "LiftSuppression">
  | Command<"UnsubscribeSwitched", "SwitchUnsubscribe">

/** Stands for all of a company's sending domains. */
const ALL = "*"

interface State {
  /** The sending domains from which each must not be written to. */
  readonly from: Map<AddressTag, Set<string>>
  readonly offering: Set<string>
}

/** Whom a company must not write to. Only the functions of this file look inside. */
export type Suppressions = State

/** The rules of whom a company must not write to. */
export const suppressionsDecider: Decider<SuppressionCommand, Suppressions, SuppressionEvent> = {
  initial: () => ({ from: new Map(), offering: new Set() }),
  decide,
  evolve,
}

function decide(
  command: SuppressionCommand,
  { from, offering }: Suppressions,
  { at }: DecisionStamp,
): readonly SuppressionEvent[] {
  switch (command.type) {
    case "SuppressRecipient": {
      const known = from.get(command.tag)
      const isKnown = known?.has(command.sendingDomainId ?? ALL) === true
      return isKnown ? [] : [{ ...command, type: "RecipientSuppressed", at }]
    }
    case "LiftSuppression":
      return from.has(command.tag) ? [{ ...command, type: "SuppressionLifted", at }] : []
    case "SwitchUnsubscribe":
      return offering.has(command.sendingDomainId) === command.isOn
        ? []
        : [{ ...command, type: "UnsubscribeSwitched", at }]
    default:
      return unreachable(command)
  }
}

function evolve(state: Suppressions, event: SuppressionEvent): Suppressions {
  const { from, offering } = state
  switch (event.type) {
    case "RecipientSuppressed": {
      const known = from.get(event.tag) ?? new Set()
      from.set(event.tag, known.add(event.sendingDomainId ?? ALL))
      return state
    }
    case "SuppressionLifted":
      from.delete(event.tag)
      return state
    case "UnsubscribeSwitched":
      if (event.isOn) offering.add(event.sendingDomainId)
      else offering.delete(event.sendingDomainId)
      return state
    default:
      return unreachable(event)
  }
}

/** Whether somebody must not be written to from a sending domain. */
export const isSuppressed =
  (tag: AddressTag, sendingDomainId: string) =>
  ({ from }: Suppressions): boolean => {
    const known = from.get(tag)
    return known !== undefined && (known.has(ALL) || known.has(sendingDomainId))
  }

/** Whether mails from a sending domain offer not to be written to again. */
export const isUnsubscribeOffered =
  (sendingDomainId: string) =>
  ({ offering }: Suppressions): boolean =>
    offering.has(sendingDomainId)

/** How it is kept beside its stream. */
export const suppressionsCheckpoint: CheckpointFormat<Suppressions> = {
  version: 1,
  save: ({ from, offering }) => ({
    from: [...from].map(([tag, domains]) => [tag, [...domains]]),
    offering: [...offering],
  }),
  load: (saved) => {
    const { from, offering } = saved as {
      readonly from: readonly (readonly [AddressTag, readonly string[]])[]
      readonly offering: readonly string[]
    }
    return {
      from: new Map(from.map(([tag, domains]) => [tag, new Set(domains)])),
      offering: new Set(offering),
    }
  },
}

/** What the state takes in memory, in bytes, about. */
export const suppressionsBytes = ({ from }: Suppressions): number => 1_000 + from.size * 250
