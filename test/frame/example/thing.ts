/**
 * Things that a company orders, stream `thing-<companyId>`: ordered once, then ended with an outcome.
 *
 * Names are unique within a company. The stream decides that, so one of two orders with the same name wins.
 */
import { streamOf } from "../../../domain/kernel/aggregate.ts"
import type { Decider, DecisionStamp } from "../../../domain/kernel/decider.ts"
import { unreachable } from "../../../domain/kernel/decider.ts"
import type { FactOf, EventFormats } from "../../../domain/kernel/event-format.ts"
import { codecOf, enumOf, asciiText, text, instant } from "../../../domain/kernel/event-format.ts"
import { idFieldType } from "../../../domain/kernel/id-field-types.ts"
import type { CompanyId } from "../../../domain/kernel/ids.ts"
import { createIdParser } from "../../../domain/kernel/ids.ts"

/** `thing_` and a unique part. */
export type ThingId = `thing_${string}`

/** Parses the id of a thing. */
export const parseThingId = createIdParser("thing_")

const thingId = idFieldType("a thing's id", parseThingId)

/** Maximum length of a name, in characters. */
export const THING_NAME_MAX_LENGTH = 40

/** The stored forms of the facts about things. */
const thingFormats = {
  /** A company ordered a thing, and `maker` makes it. */
  ThingOrdered: {
    version: 1,
    fields: {
      at: instant,
      thingId,
      chargeId: asciiText,
      maker: enumOf("workshop", "relay"),
      name: text,
    },
  },
  /** A thing ended. One that was never ordered ends as `abandoned`. */
  ThingEnded: {
    version: 1,
    fields: {
      at: instant,
      thingId,
      outcome: enumOf("made", "refused", "unavailable", "abandoned"),
    },
  },
} satisfies EventFormats

/** A fact about things. */
export type ThingEvent = FactOf<typeof thingFormats>

type ThingFact<T extends ThingEvent["type"]> = Extract<ThingEvent, { readonly type: T }>

/** Outcome of an ordered thing. */
export type ThingOutcome = Exclude<ThingFact<"ThingEnded">["outcome"], "abandoned">

/** Orders a paid thing, ends an ordered one, or prevents one from being ordered later. */
export type ThingCommand =
  | ({ readonly type: "OrderThing" } & Omit<ThingFact<"ThingOrdered">, "type" | "at">)
  | { readonly type: "EndThing"; readonly thingId: ThingId; readonly outcome: ThingOutcome }
  | { readonly type: "AbandonThing"; readonly thingId: ThingId }

/** A command was rejected. */
export interface ThingRefused {
  readonly type: "ThingRefused"
  readonly at: number
  readonly code: "name_taken" | "abandoned"
}

/** A thing; its outcome is null while it is made. */
export interface ThingView extends Omit<ThingFact<"ThingOrdered">, "type" | "at"> {
  readonly outcome: ThingOutcome | null
}

/** The things of a company. Only the functions of this file read it. */
export type Things = Map<ThingId, ThingView | "abandoned">

function decide(
  command: ThingCommand,
  things: Things,
  { at }: DecisionStamp,
): readonly ThingEvent[] | ThingRefused {
  const known = things.get(command.thingId)
  switch (command.type) {
    case "OrderThing": {
      if (known === "abandoned") return { type: "ThingRefused", at, code: "abandoned" }
      if (known !== undefined) return []
      const isTaken = [...things.values()].some((one) => holds(one, command.name))
      if (isTaken) return { type: "ThingRefused", at, code: "name_taken" }
      return [{ ...command, type: "ThingOrdered", at }]
    }
    case "EndThing":
      if (known === undefined || known === "abandoned" || known.outcome !== null) return []
      return [{ ...command, type: "ThingEnded", at }]
    case "AbandonThing":
      if (known !== undefined) return []
      return [{ ...command, type: "ThingEnded", at, outcome: "abandoned" }]
    default:
      return unreachable(command)
  }
}

/** Whether a thing has a name. A rejected thing releases its name. */
const holds = (one: ThingView | "abandoned", name: string): boolean =>
  one !== "abandoned" && one.name === name && (one.outcome ?? "made") === "made"

function evolve(things: Things, fact: ThingEvent): Things {
  if (fact.type === "ThingOrdered") {
    const { type: _type, at: _at, ...ordered } = fact
    return things.set(fact.thingId, { ...ordered, outcome: null })
  }
  if (fact.outcome === "abandoned") return things.set(fact.thingId, "abandoned")
  const known = things.get(fact.thingId)
  if (known === undefined || known === "abandoned") return things
  return things.set(fact.thingId, { ...known, outcome: fact.outcome })
}

/** The rules of things. */
export const thingRules: Decider<ThingCommand, Things, ThingEvent, ThingRefused> = {
  initial: () => new Map(),
  decide,
  evolve,
}

/** Finds a thing by its id; null if no fact names it. */
export const thingIn = (id: ThingId) => (things: Things) => things.get(id) ?? null

declare module "../../../domain/kernel/facts.ts" {
  interface FactsByCategory {
    readonly thing: ThingEvent
  }
}

/** The aggregate of a company's things. */
export const THING = {
  category: "thing" as const,
  decider: thingRules,
  codec: codecOf(thingFormats),
}

/** The stream of a company's things. */
export const thingsOf = (companyId: CompanyId) => streamOf(THING, companyId)
