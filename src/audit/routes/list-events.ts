/** `GET /api/v1/ledger/events`: the facts of the company's ledger as they are stored, to be hashed. */
import { ledgerStreamOf, refusalsStreamOf } from "../../../domain/charging/aggregates.ts"
import { z } from "zod"
import { INVALID_CURSOR } from "../../frame/routes/lists.ts"
import { route } from "../../frame/routes/declare/route.ts"
import { invalidRefusal } from "../../frame/routes/checks/7-values.ts"
import { describedId } from "../../frame/kernel/schema.ts"

const MAX_EVENTS = 500
/** No stream reaches this revision: a store counts them in 31 bits. */
const LAST_REVISION = 2 ** 31 - 1

const EventsQuery = z.object({
  stream: z
    .enum(["ledger", "refusals"])
    .default("ledger")
    .describe("The facts of the ledger, or those of refused charges"),
  cursor: z
    .string({ error: INVALID_CURSOR })
    .regex(/^(0|[1-9]\d{0,14})$/, INVALID_CURSOR)
    .transform(Number)
    .refine((from) => from <= LAST_REVISION, INVALID_CURSOR)
    .default(0)
    .meta({ description: "Where to go on, as this list said; default the first fact" }),
})

const StoredFact = z
  .object({
    stream: z.string().describe("The stream that it stands in"),
    revision: z.int().describe("Its place there; the first is 0"),
    id: describedId("the fact"),
    type: z.string().describe("What happened, such as `Charged`"),
    data: z.string().meta({ description: "The stored text, which is hashed as it stands" }),
    metadata: z.string().meta({ description: "The stored text, with the hash" }),
  })
  .meta({ id: "StoredFact", description: "A fact as it is stored" })

const Events = z.object({
  events: z.array(StoredFact).describe(`The oldest first, up to ${MAX_EVENTS}`),
  nextCursor: z
    .string()
    .optional()
    .meta({ description: "The `cursor` of those behind these; absent where there are none yet" }),
  cursor: z
    .string()
    .meta({ description: "Where this list ends: send it later for what came meanwhile" }),
})

/** The route. */
export const listEvents = route({
  name: "listEvents",
  method: "GET",
  url: "/api/v1/ledger/events",
  group: "ledger",
  summary: "Read the stored facts of the ledger, or of its refusals",
  operation: "ledger.read",
  isCounted: false,
  query: EventsQuery,
  reply: Events,
  beyondSpec: "An auditor's key reads what is stored and recomputes every hash (docs/verify.md).",
  handle: async (ports, { companyId }, { query }) => {
    const { stream: named, cursor: from } = query
    const stream =
      named === "ledger" ? ledgerStreamOf(companyId).stream : refusalsStreamOf(companyId).stream
    const events: z.infer<typeof Events>["events"] = []
    // One before what is asked for says that the place was one of this list, one behind whether there are more.
    const reading = { from: Math.max(0, from - 1), limit: MAX_EVENTS + 2 }
    let isThere = from === 0
    for await (const page of ports.store.read(stream, reading)) {
      for (const { revision, id, type, data, metadata } of page) {
        isThere = true
        if (revision >= from) events.push({ stream, revision, id, type, data, metadata })
      }
    }
    if (!isThere) return { ok: false, refusal: invalidRefusal({ cursor: INVALID_CURSOR }) }
    const shown = events.slice(0, MAX_EVENTS)
    const last = shown.at(-1)
    const cursor = String(last === undefined ? from : last.revision + 1)
    const more = events.length > shown.length ? { nextCursor: cursor } : {}
    return { ok: true, body: { events: shown, ...more, cursor } }
  },
})
