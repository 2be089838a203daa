/**
 * The recipients that a company must not write to, and the sending domains that offer to unsubscribe.
 *
 * Stream `suppressions-<companyId>`. A dead address is suppressed for all sending domains of the company; a person
 * who unsubscribed only for that one, because unsubscribing from offers must not stop sign-in codes. A checkpoint
 * bounds the time to load it.
 */
import type { CheckpointFormat, Decider, DecisionStamp } from "../kernel/decider.ts"
import { unreachable } from "../kernel/decider.ts"
import type { FactOf, EventFormats } from "../kernel/event-format.ts"
import { codecOf, flag, enumOf, optional, asciiText, instant } from "../kernel/event-format.ts"
import { sealedText } from "../kernel/id-field-types.ts"
import type { AddressTag } from "./ids.ts"
import { addressTag } from "./ids.ts"

/**
 * Status codes (RFC 3463): no such mailbox or domain, bad syntax, moved, no mail accepted, mailbox disabled. A full
 * mailbox (5.2.2), a too large mail (5.2.3) and a policy (5.7.x) do not mean a dead address.
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
 * Reply codes (RFC 5321, RFC 7504) of servers without status codes: mailbox unavailable, user not local, mailbox
 * name not allowed, domain accepts no mail. 552 is a full mailbox, 554 can be anything.
 */
const DEAD_REPLIES: ReadonlySet<string> = new Set(["550", "551", "553", "556"])

/** Whether a bounce code means that the address is dead, so that it is suppressed. */
export const isDeadAddressCode = (code: string | null): boolean =>
  code !== null && (DEAD_STATUSES.has(code) || DEAD_REPLIES.has(code))

const SUPPRESSION_REASONS = ["bounced", "unsubscribed"] as const

/** The stored formats of suppression events. */
export const suppressionFormats = {
  /** The company must not write to a recipient from now on. */
  RecipientSuppressed: {
    version: 1,
    fields: {
      at: instant,
      tag: addressTag,
      /** Formatted by `formatMailbox`. */
      to: sealedText,
      reason: enumOf(...SUPPRESSION_REASONS),
      /** The sending domain; null for all of the company's. */
      sendingDomainId: optional(asciiText),
    },
  },
  SuppressionLifted: { version: 1, fields: { at: instant, tag: addressTag } },
  /** Mails from a sending domain offer to unsubscribe, or no longer do. */
  UnsubscribeSwitched: {
    version: 1,
    fields: { at: instant, sendingDomainId: asciiText, isOn: flag },
  },
} satisfies EventFormats

export type SuppressionEvent = FactOf<typeof suppressionFormats>

/** An event of suppressions of type `T`. */
export type SuppressionFact<T extends SuppressionEvent["type"]> = Extract<
  SuppressionEvent,
  { readonly type: T }
>

export const suppressionCodec = codecOf(suppressionFormats)

type Command<T extends SuppressionEvent["type"], Type extends string> = {
  readonly type: Type
} & Omit<SuppressionFact<T>, "type" | "at">

/** Every command of suppressions; all are idempotent. */
export type SuppressionCommand =
  | Command<"RecipientSuppressed", "SuppressRecipient">
  | Command<"SuppressionLifted", "LiftSuppression">
  | Command<"UnsubscribeSwitched", "SwitchUnsubscribe">

const ALL = "*"

interface State {
  readonly from: Map<AddressTag, Set<string>>
  readonly offering: Set<string>
}

/** The suppressions of a company. Only the functions of this file access the fields. */
export type Suppressions = State

/** The rules of suppressions. */
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

/** Whether a recipient is suppressed for a sending domain. */
export const isSuppressed =
  (tag: AddressTag, sendingDomainId: string) =>
  ({ from }: Suppressions): boolean => {
    const known = from.get(tag)
    return known !== undefined && (known.has(ALL) || known.has(sendingDomainId))
  }

/** Whether mails from a sending domain offer to unsubscribe. */
export const isUnsubscribeOffered =
  (sendingDomainId: string) =>
  ({ offering }: Suppressions): boolean =>
    offering.has(sendingDomainId)

/** The checkpoint format of suppressions. */
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

/** Estimates the memory of suppressions in bytes. */
export const suppressionsBytes = ({ from }: Suppressions): number => 1_000 + from.size * 250
