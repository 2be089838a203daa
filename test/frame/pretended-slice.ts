/**
 * A slice that is not there: something is charged, meant, done outside and ended, in the stream of a
 * recipient, whose facts it borrows. Its provider is a switch in the test's hands.
 */
import { z } from "zod"
import { ProviderSilent, ProviderUnavailable } from "../../adapters/providers/outside.ts"
import { PRICES } from "../../domain/charging/aggregates.ts"
import { priceOf } from "../../domain/charging/price-book.ts"
import { refusal } from "../../src/frame/calls/refusal.ts"
import { route } from "../../src/frame/calls/route.ts"
import { endCharge } from "../../src/frame/effects/charge-ends.ts"
import { charged } from "../../src/frame/effects/charged.ts"
import { effect } from "../../src/frame/effects/effect.ts"
import type { Reaction } from "../../src/frame/effects/reaction.ts"
import { reaction } from "../../src/frame/effects/reaction.ts"
import type { Slice } from "../../src/frame/slice.ts"

/** How the pretended provider answers, and what it was called for. */
export interface PretendedProvider {
  acts: "makes it" | "refuses it" | "is silent" | "is away"
  readonly made: Set<string>
}

const URL = "/api/v1/pretended/things"
const Thing = z.object({ id: z.string(), name: z.string() })
type Named = { name: string }

/** A slice whose intent is the open charge itself: its row follows from the charge. */
export function pretendedSlice(provider: PretendedProvider): Slice {
  const making = charged<Named, Named, object, z.infer<typeof Thing>, "thing">({
    prefix: "thing",
    undone: "the thing could not be meant",
    draft: async (_ports, _caller, { name }) =>
      name === "nothing" ? { refusal: refusal("conflict", "There is no such thing.") } : { name },
    prepare: async () => ({}),
    price: async ({ runner }) => {
      const price = await runner.look(PRICES, (book) => priceOf(book, "deploy"))
      return { item: "deploy", quantity: 1, ...price, amountMicros: price.unitPriceMicros }
    },
    resource: (_draft, id) => id,
    intend: async (_ports, _caller, { name }, _prepared, { id }) =>
      name === "late nothing"
        ? { refusal: refusal("conflict", "There is no such thing by now.") }
        : { reply: { id, name }, position: null },
    begun: async () => "no",
    reply: async (_ports, { name }, id) => ({ reply: { id, name }, position: null }),
  })
  return {
    name: "pretended",
    routes: [
      route({
        method: "POST",
        url: URL,
        group: "pretended",
        summary: "Make a thing",
        operation: "code.publish.preview",
        counted: true,
        body: z.object({ name: z.string() }),
        success: [202],
        reply: Thing,
        refuses: ["conflict", "spend_limit_reached", "payment_required"],
        ...making,
      }),
    ],
    reactions: doing(provider),
    reconciled: [
      {
        prefix: "thing",
        neverBegun: "the thing was never meant",
        // Its own row stands for it as long as its charge is open.
        abandon: async () => "open",
      },
    ],
  }
}

const Payload = z.object({ chargeId: z.string(), id: z.string(), at: z.number() })

function doing(provider: PretendedProvider): readonly Reaction[] {
  return effect<z.infer<typeof Payload>, "made" | "refused">({
    ...{ kind: "make-thing", askKind: "ask-thing", payload: Payload },
    ...{ provider: "the maker", about: "this thing", unknownTo: "nobody meant this thing" },
    from: {
      Charged: ({ resource, open, chargeId, at }) => {
        if (!open || resource?.startsWith("thing_") !== true) return []
        return [{ name: resource, payload: { chargeId, id: resource, at }, dueAt: at }]
      },
    },
    endsWithCompany: true,
    begunAt: ({ at }) => at,
    look: async () => "open",
    act: async (_ports, { payload }) => {
      if (provider.acts === "is away") throw new ProviderUnavailable("away")
      if (provider.acts === "refuses it") return "refused"
      provider.made.add(payload.id)
      if (provider.acts === "is silent") throw new ProviderSilent("no answer")
      return "made"
    },
    ask: async (_ports, { payload }) => (provider.made.has(payload.id) ? "made" : "unknown"),
    isRepeatable: () => false,
    end: async (ports, { companyId, payload: { chargeId } }, answer, cause) => {
      const back = { amountMicros: null, reason: "it was not made" }
      await endCharge(ports, companyId, chargeId, answer === "made" ? null : back, cause)
      return true
    },
    unknown: async () => "refused",
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
    atOnce: { process: 2, company: 1 },
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
