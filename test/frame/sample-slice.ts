/**
 * A sample slice for tests: providers of the example slice's things, which tests switch, and a route that waits until
 * its thing is made by a provider without a status query.
 */
import { z } from "zod"
import {
  ProviderOutcomeUnknown,
  ProviderUnavailable,
} from "../../adapters/providers/provider-errors.ts"
import type { CompanyId } from "../../domain/kernel/ids.ts"
import { effect } from "../../src/frame/effects/effect.ts"
import { paidRoute } from "../../src/frame/effects/paid-route.ts"
import { unitPrice } from "../../src/frame/effects/price.ts"
import type { Reaction } from "../../src/frame/effects/reaction.ts"
import { reaction } from "../../src/frame/effects/reaction.ts"
import { refusal } from "../../src/frame/routes/answers/refusal.ts"
import type { Slice } from "../../src/frame/slice.ts"
import { OrderThing, OrderedThing, ThingReply, thing, thingAt } from "./example/order-thing.ts"
import type { ThingId, ThingOutcome } from "./example/thing.ts"

interface Workshop {
  /** @throws ProviderUnavailable, ProviderOutcomeUnknown */
  readonly make: (thingId: ThingId) => Promise<"made" | "refused">
  readonly checkStatus: (thingId: ThingId) => Promise<"made" | "unknown">
}

declare module "../../src/frame/ports.ts" {
  interface ProviderPorts {
    readonly workshop: Workshop
  }
}

/** How the workshop and the relay answer, and the things that they got. */
interface SwitchableProvider {
  behavior: "makes it" | "refuses it" | "is silent" | "is away"
  readonly made: Set<string>
  /** Each time that the relay got a thing. */
  readonly dispatched: string[]
  /** Runs when the relay gets a thing. */
  onDispatched: () => void
  /** The relay continues once this resolves. */
  dispatchGate: Promise<void>
}

/** Returns a provider that makes everything. */
export function newSwitchableProvider(): SwitchableProvider {
  return {
    behavior: "makes it",
    made: new Set(),
    dispatched: [],
    onDispatched: () => undefined,
    dispatchGate: Promise.resolve(),
  }
}

/** A slice with the workshop, and with a route that waits for the relay. */
export function sampleSlice(provider: SwitchableProvider): Slice {
  return {
    name: "pretended",
    groups: { pretended: "Sample routes of the tests." },
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

function workshopOf(provider: SwitchableProvider): Workshop {
  return {
    make: async (thingId) => {
      if (provider.behavior === "is away") throw new ProviderUnavailable("away")
      if (provider.behavior === "refuses it") return "refused"
      provider.made.add(thingId)
      if (provider.behavior === "is silent") throw new ProviderOutcomeUnknown("no answer")
      return "made"
    },
    checkStatus: async (thingId) => (provider.made.has(thingId) ? "made" : "unknown"),
  }
}

const REFUSED = refusal("conflict", "The thing was refused.")
const AWAY = refusal(
  "unavailable",
  "The relay is not available now. Nothing was charged; send it again.",
)

/** A route that waits until its thing is made. It reads the outcome from the thing's stream. */
function awaitedRoute(provider: SwitchableProvider) {
  return paidRoute({
    name: "orderThingNow",
    method: "POST",
    url: "/api/v1/things/now",
    group: "pretended",
    summary: "Order a thing and wait for it",
    operation: "code.publish.preview",
    isCounted: true,
    body: OrderThing,
    reply: ThingReply,
    statuses: [201],
    refusalCodes: ["conflict"],

    paidResource: thing,
    jobs: relayJobs(provider),
    refundReason: "the thing could not be ordered",
    draft: async (_ports, _caller, { body: { name } }) => ({ name }),
    price: (ports) => unitPrice(ports, "email_recipient"),
    command: async (_ports, _caller, { name }, { id: thingId, chargeId }) => ({
      type: "OrderThing" as const,
      thingId,
      chargeId,
      maker: "relay" as const,
      name,
    }),
    outcomeWait: { payload: (thingId, orderedAt) => ({ thingId, orderedAt }) },
    answer: async (_ports, { name }, id, { view: { outcome } }) => {
      if (outcome === "refused") return { refusal: REFUSED }
      if (outcome === "unavailable") return { refusal: AWAY }
      return outcome === "made" ? { reply: { id, name } } : null
    },
  })
}

/**
 * Sends a thing to the relay, and again if the relay did not answer. No fact enqueues the job: only the request
 * begins it, so that a worker is never faster and the request never waits for its whole timeout.
 */
function relayJobs(provider: SwitchableProvider) {
  const at = (companyId: CompanyId, { thingId }: { readonly thingId: ThingId }) =>
    thingAt(companyId, thingId)
  return effect({
    kind: "relay-thing",
    payload: OrderedThing,
    provider: "the relay",
    label: "this thing",
    missingReason: "its company's stream does not know this thing",
    startedAt: ({ orderedAt }) => orderedAt,
    checkStatus: (ports, { companyId, payload }, cause) =>
      thing.checkStatus(ports, companyId, at(companyId, payload), cause),
    callProvider: async (_ports, { payload: { thingId } }): Promise<ThingOutcome> => {
      provider.dispatched.push(thingId)
      provider.onDispatched()
      await provider.dispatchGate
      if (provider.behavior === "is away") throw new ProviderUnavailable("away")
      if (provider.behavior === "is silent") throw new ProviderOutcomeUnknown("no answer")
      return provider.behavior === "refuses it" ? "refused" : "made"
    },
    checkProvider: null,
    isIdempotent: () => true,
    // A request waits for the outcome, so a later retry would be of no use to it.
    times: { retryUnavailableForMs: 0 },
    unavailableOutcome: "unavailable",
    recordOutcome: async (ports, { companyId, payload }, outcome, cause) => {
      const command = { type: "EndThing" as const, thingId: payload.thingId, outcome }
      const ended = at(companyId, payload)
      return (await thing.conclude(ports, companyId, ended, command, cause)).isSettled
    },
    notReceivedOutcome: async () => "refused" as const,
    discardedOutcome: "refused",
  })
}

/** A reaction whose jobs run until they are released. */
export function waitingReaction(begun: () => void): Reaction {
  return reaction({
    kind: "take-long",
    payload: z.object({}),
    on: {
      FundsAdded: ({ reference, at }, { companyId }) =>
        reference === "long" ? [{ name: companyId, payload: {}, dueAt: at }] : [],
    },
    isLong: true,
    concurrency: { process: 2, machine: 2, company: 1 },
    discard: "allowed",
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
