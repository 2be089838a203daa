/**
 * What the scratch slice has no part in: the providers that make things, which tests switch, and a route that
 * waits until its thing is made, by a provider that cannot be asked.
 */
import { z } from "zod"
import { ProviderSilent, ProviderUnavailable } from "../../adapters/providers/outside.ts"
import type { CompanyId } from "../../domain/kernel/ids.ts"
import { effect } from "../../src/frame/effects/effect.ts"
import { paid } from "../../src/frame/effects/paid.ts"
import { priceOfOne } from "../../src/frame/effects/price.ts"
import type { Reaction } from "../../src/frame/effects/reaction.ts"
import { reaction } from "../../src/frame/effects/reaction.ts"
import { refusal } from "../../src/frame/routes/answers/refusal.ts"
import type { Slice } from "../../src/frame/slice.ts"
import { OrderThing, OrderedThing, ThingReply, thing, thingAt } from "./scratch/order-thing.ts"
import type { ThingId, ThingOutcome } from "./scratch/thing.ts"

/** Makes things, and knows which of them it made. */
interface Workshop {
  /** @throws ProviderUnavailable, ProviderSilent */
  readonly make: (thingId: ThingId) => Promise<"made" | "refused">
  readonly ask: (thingId: ThingId) => Promise<"made" | "unknown">
}

declare module "../../src/frame/ports.ts" {
  interface ProvidedPorts {
    readonly workshop: Workshop
  }
}

/** How the workshop and the relay answer, and the things that they got. */
interface PretendedProvider {
  acts: "makes it" | "refuses it" | "is silent" | "is away"
  readonly made: Set<string>
  /** Each time that the relay got a thing. */
  readonly handed: string[]
  /** Runs when the relay gets a thing. */
  onHanded: () => void
  /** The relay continues once this resolves. */
  holds: Promise<void>
}

/** Returns a provider that makes everything. */
export function pretendedProvider(): PretendedProvider {
  return {
    acts: "makes it",
    made: new Set(),
    handed: [],
    onHanded: () => undefined,
    holds: Promise.resolve(),
  }
}

/** A slice with the workshop, and with a route that waits for the relay. */
export function pretendedSlice(provider: PretendedProvider): Slice {
  return {
    name: "pretended",
    groups: { pretended: "What is not there." },
    routes: [awaitedRoute(provider)],
    providers: [
      {
        from: import.meta.url,
        name: "workshop",
        open: async () => ({ workshop: workshopOf(provider) }),
      },
    ],
  }
}

function workshopOf(provider: PretendedProvider): Workshop {
  return {
    make: async (thingId) => {
      if (provider.acts === "is away") throw new ProviderUnavailable("away")
      if (provider.acts === "refuses it") return "refused"
      provider.made.add(thingId)
      if (provider.acts === "is silent") throw new ProviderSilent("no answer")
      return "made"
    },
    ask: async (thingId) => (provider.made.has(thingId) ? "made" : "unknown"),
  }
}

const REFUSED = refusal("conflict", "The thing was refused.")
const AWAY = refusal(
  "unavailable",
  "The relay is not available now. Nothing was charged; send it again.",
)

/** A route that waits until its thing is made. What it waits for is read from the thing's stream. */
function awaitedRoute(provider: PretendedProvider) {
  return paid({
    name: "orderThingNow",
    method: "POST",
    url: "/api/v1/things/now",
    group: "pretended",
    summary: "Order a thing and wait for it",
    operation: "code.publish.preview",
    counted: true,
    body: OrderThing,
    reply: ThingReply,
    success: [201],
    refuses: ["conflict"],

    thing,
    jobs: relayJobs(provider),
    undone: "the thing could not be ordered",
    draft: async (_ports, _caller, { body: { name } }) => ({ name }),
    price: (ports) => priceOfOne(ports, "email_recipient"),
    command: async (_ports, _caller, { name }, { id: thingId, chargeId }) => ({
      type: "OrderThing" as const,
      thingId,
      chargeId,
      maker: "relay" as const,
      name,
    }),
    awaits: { payload: (thingId, orderedAt) => ({ thingId, orderedAt }) },
    answer: async (_ports, { name }, id, { view: { outcome } }) => {
      if (outcome === "refused") return { refusal: REFUSED }
      if (outcome === "unavailable") return { refusal: AWAY }
      return outcome === "made" ? { reply: { id, name } } : null
    },
  })
}

/**
 * Gives a thing to the relay, and once more where the relay was silent. No job follows from the fact: the
 * request alone begins it, so that no worker is faster and the request never waits for its whole time.
 */
function relayJobs(provider: PretendedProvider) {
  const at = (companyId: CompanyId, { thingId }: { readonly thingId: ThingId }) =>
    thingAt(companyId, thingId)
  return effect({
    kind: "relay-thing",
    payload: OrderedThing,
    provider: "the relay",
    about: "this thing",
    unknownTo: "its company's stream does not know this thing",
    begunAt: ({ orderedAt }) => orderedAt,
    look: (ports, { companyId, payload }, cause) =>
      thing.look(ports, companyId, at(companyId, payload), cause),
    act: async (_ports, { payload: { thingId } }): Promise<ThingOutcome> => {
      provider.handed.push(thingId)
      provider.onHanded()
      await provider.holds
      if (provider.acts === "is away") throw new ProviderUnavailable("away")
      if (provider.acts === "is silent") throw new ProviderSilent("no answer")
      return provider.acts === "refuses it" ? "refused" : "made"
    },
    ask: null,
    isRepeatable: () => true,
    // A request waits for it: a relay that is away now is of no use to that request later.
    times: { unavailableForMs: 0 },
    unavailable: "unavailable",
    end: async (ports, { companyId, payload }, outcome, cause) => {
      const command = { type: "EndThing" as const, thingId: payload.thingId, outcome }
      const ended = at(companyId, payload)
      return (await thing.conclude(ports, companyId, ended, command, cause)).isSettled
    },
    unknown: async () => "refused" as const,
    givenUp: "refused",
  })
}

/** Work that takes as long as the test says, and hears when it is to be let go. */
export function longReaction(begun: () => void): Reaction {
  return reaction({
    kind: "take-long",
    payload: z.object({}),
    from: {
      FundsAdded: ({ reference, at }, { companyId }) =>
        reference === "long" ? [{ name: companyId, payload: {}, dueAt: at }] : [],
    },
    isLong: true,
    atOnce: { process: 2, machine: 2, company: 1 },
    giveUp: "nothing is lost",
    perform: async (_ports, { signal }) => {
      begun()
      await new Promise<void>((resolve) => {
        signal.addEventListener("abort", () => resolve(), { once: true })
      })
      signal.throwIfAborted()
      return { result: "done" }
    },
  })
}
