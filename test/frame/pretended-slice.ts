/**
 * A slice that is not there: something is charged, meant, done outside and ended, and its open charge
 * is all that is stored of it. Its provider is a switch in the test's hands.
 */
import { z } from "zod"
import { ProviderSilent, ProviderUnavailable } from "../../adapters/providers/outside.ts"
import { PRICES } from "../../domain/charging/aggregates.ts"
import { priceOf } from "../../domain/charging/price-book.ts"
import { idParser } from "../../domain/kernel/ids.ts"
import { refusal } from "../../src/frame/routes/answers/refusal.ts"
import type { Caller, Checked, Route } from "../../src/frame/routes/declare/route.ts"
import { route } from "../../src/frame/routes/declare/route.ts"
import { endCharge } from "../../src/frame/effects/charges.ts"
import { charged } from "../../src/frame/effects/charged.ts"
import { effect } from "../../src/frame/effects/effect.ts"
import type { Reaction } from "../../src/frame/effects/reaction.ts"
import { reaction } from "../../src/frame/effects/reaction.ts"
import { idSchema } from "../../src/frame/kernel/schema.ts"
import type { Ports } from "../../src/frame/ports.ts"
import type { Slice } from "../../src/frame/slice.ts"

/** How the pretended provider answers, and what it was called for. */
interface PretendedProvider {
  acts: "makes it" | "refuses it" | "is silent" | "is away"
  readonly made: Set<string>
  /** What came of each mail, and each time one was handed over. */
  readonly mailed: Map<string, "taken" | "refused" | "away">
  readonly handed: string[]
  /** Told of each mail that is handed over. */
  onHanded: () => void
  /** The mailing goes on once this resolves. */
  holds: Promise<void>
  /** How long a call waits for its mail, milliseconds. */
  withinMs: number
}

/** A provider that does what it should. */
export function pretendedProvider(): PretendedProvider {
  return {
    acts: "makes it",
    made: new Set(),
    mailed: new Map(),
    handed: [],
    onHanded: () => undefined,
    holds: Promise.resolve(),
    withinMs: 15_000,
  }
}

const URL = "/api/v1/pretended/things"
const Thing = z.object({ id: z.string(), name: z.string() })
type Named = { name: string }

/**
 * A slice whose intent is the open charge itself: its row follows from the charge. One of its calls waits
 * for what comes of it, of a provider that cannot be asked.
 */
export function pretendedSlice(provider: PretendedProvider): Slice {
  const making = charged<Checked<Named>, Named, object, z.infer<typeof Thing>, "thing">({
    prefix: "thing",
    undone: "the thing could not be meant",
    draft: async (_ports, _caller, { body: { name } }) =>
      name === "nothing" ? { refusal: refusal("conflict", "There is no such thing.") } : { name },
    prepare: async () => ({}),
    price: async ({ runner }) => {
      const price = await runner.read(PRICES, (book) => priceOf(book, "deploy"))
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
    groups: { pretended: "What is not there." },
    routes: [
      route({
        name: "makeThing",
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
      awaited(provider),
    ],
    reactions: [...doing(provider), ...mailing(provider)],
    reconciled: [
      { prefix: "mailed", neverBegun: "nothing was ever mailed", abandon: async () => "open" },
      {
        prefix: "thing",
        neverBegun: "the thing was never meant",
        // Its own row stands for it as long as its charge is open.
        abandon: async () => "open",
      },
    ],
  }
}

/** The ids of things, which the program knows nothing of. */
const parseThingId = idParser("thing_")
/** The ids of mails. */
const parseMailId = idParser("mailed_")

const Payload = z.object({
  chargeId: z.string(),
  at: z.number(),
  id: z.union([idSchema(parseThingId), idSchema(parseMailId)]),
})

/** A call that waits until its mail is taken; the mail's row and what came of it go by its charge. */
function awaited(provider: PretendedProvider): Route {
  const row = (ports: Ports, caller: Caller, id: string, chargeId: string) => {
    const at = ports.clock.now()
    const payload = { chargeId, id, at }
    return {
      kind: "mail-thing",
      name: id,
      subject: id,
      companyId: caller.companyId,
      payload,
      dueAt: at,
    }
  }
  return route({
    name: "mailThing",
    method: "POST",
    url: `${URL}/mailed`,
    group: "pretended",
    summary: "Mail a thing",
    operation: "code.publish.preview",
    counted: true,
    body: z.object({ name: z.string() }),
    success: [201],
    reply: Thing,
    refuses: ["conflict", "spend_limit_reached", "payment_required"],
    ...charged<Checked<Named>, Named, object, z.infer<typeof Thing>, "mailed">({
      prefix: "mailed",
      undone: "the mail could not be meant",
      draft: async (_ports, _caller, { body: { name } }) => ({ name }),
      prepare: async () => ({}),
      price: async ({ runner }) => {
        const price = await runner.read(PRICES, (book) => priceOf(book, "email_recipient"))
        return {
          item: "email_recipient",
          quantity: 1,
          ...price,
          amountMicros: price.unitPriceMicros,
        }
      },
      resource: (_draft, id) => id,
      intend: async () => "found",
      begun: async () => "no",
      reply: async (_ports, { name }, id) => ({ reply: { id, name }, position: null }),
      awaits: {
        work: (ports, caller, _draft, { id, chargeId }) => row(ports, caller, id, chargeId),
        outcome: async (_ports, _caller, { name }, { id }) => {
          const came = provider.mailed.get(id)
          if (came === "refused") return { refusal: refusal("conflict", "The mail was refused.") }
          if (came === "away") {
            const message = "The relay is not available now. Nothing was charged; send it again."
            return { refusal: refusal("unavailable", message) }
          }
          return came === "taken" ? { reply: { id, name }, position: null } : null
        },
        withinMs: provider.withinMs,
      },
    }),
  })
}

/** Hands a mail over: the same bytes once more where nothing was said, and no third time. */
function mailing(provider: PretendedProvider): readonly Reaction[] {
  return effect<z.infer<typeof Payload>, "taken" | "refused" | "away">({
    kind: "mail-thing",
    payload: Payload,
    provider: "the relay",
    about: "this mail",
    unknownTo: "nobody meant this mail",
    from: {
      Charged: ({ resource, isPending, chargeId, at }) => {
        const id = parseMailId(resource ?? "")
        if (!isPending || id === null) return []
        return [{ name: id, payload: { chargeId, id, at }, dueAt: at }]
      },
    },
    begunAt: ({ at }) => at,
    look: async (_ports, { payload: { id } }) => (provider.mailed.has(id) ? "ended" : "open"),
    act: async (_ports, { payload: { id } }) => {
      provider.handed.push(id)
      provider.onHanded()
      await provider.holds
      if (provider.acts === "is away") throw new ProviderUnavailable("away")
      if (provider.acts === "is silent") throw new ProviderSilent("no answer")
      return provider.acts === "refuses it" ? "refused" : "taken"
    },
    ask: null,
    isRepeatable: () => true,
    // Somebody waits for it: a relay that does nothing now is of no use to them later.
    times: { unavailableForMs: 0 },
    unavailable: "away",
    end: async (ports, { companyId, payload: { chargeId, id } }, answer, cause) => {
      const back = { amountMicros: null, reason: "it was not mailed" }
      await endCharge(ports, companyId, chargeId, answer === "taken" ? null : back, cause)
      provider.mailed.set(id, answer)
      return true
    },
    unknown: async () => "refused",
    givenUp: "refused",
  })
}

function doing(provider: PretendedProvider): readonly Reaction[] {
  return effect<z.infer<typeof Payload>, "made" | "refused">({
    kind: "make-thing",
    askKind: "ask-thing",
    payload: Payload,
    provider: "the maker",
    about: "this thing",
    unknownTo: "nobody meant this thing",
    from: {
      Charged: ({ resource, isPending, chargeId, at }) => {
        const id = parseThingId(resource ?? "")
        if (!isPending || id === null) return []
        return [{ name: id, payload: { chargeId, id, at }, dueAt: at }]
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
