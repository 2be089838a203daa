/**
 * `GET /api/v1/ledger/events`: the stored facts of the company's ledger, so that they can be hashed
 * again.
 */
import { ledgerStreamOf, refusalsStreamOf } from "../../../domain/charging/aggregates.ts"
import { z } from "zod"
import { INVALID_CURSOR } from "../../frame/routes/lists.ts"
import { route } from "../../frame/routes/declare/route.ts"
import { invalidRefusal } from "../../frame/routes/checks/7-values.ts"
import { describedId } from "../../frame/kernel/schema.ts"

const MAX_EVENTS = 500
/** Above every revision: a store counts revisions in 31 bits. */
const LAST_REVISION = 2 ** 31 - 1

const EventsQuery = z.object({
  stream: z
    .enum(["ledger", "refusals"])
    .default("ledger")
    .describe("`ledger` for the facts of the ledger, `refusals` for refused charges"),
  cursor: z
    .string({ error: INVALID_CURSOR })
    .regex(/^(0|[1-9]\d{0,14})$/, INVALID_CURSOR)
    .transform(Number)
    .refine((from) => from <= LAST_REVISION, INVALID_CURSOR)
    .default(0)
    .meta({ description: "The `cursor` of an earlier answer; default the first fact" }),
})

const StoredFact = z
  .object({
    stream: z.string().describe("The stream of the fact"),
    revision: z.int().describe("Its revision in the stream, from 0"),
    id: describedId("the fact"),
    type: z.string().describe("The type of the fact, such as `Charged`"),
    data: z.string().meta({ description: "The stored text, which is hashed unchanged" }),
    metadata: z.string().meta({ description: "The stored text, which contains the hash" }),
  })
  .meta({ id: "StoredFact", description: "A stored fact" })

const Events = z.object({
  events: z.array(StoredFact).describe(`Oldest first, up to ${MAX_EVENTS}`),
  nextCursor: z
    .string()
    .optional()
    .meta({ description: "The `cursor` of the next page; absent if there is none yet" }),
  cursor: z
    .string()
    .meta({ description: "The end of this page: send it later to read newer facts" }),
})

/** `GET /api/v1/ledger/events`: the stored facts of the ledger or its refusals. */
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
  beyondSpec: "An auditor's key reads the stored facts and recomputes every hash (docs/verify.md).",
  handle: async (ports, { companyId }, { query }) => {
    const { stream: named, cursor: from } = query
    const stream =
      named === "ledger" ? ledgerStreamOf(companyId).stream : refusalsStreamOf(companyId).stream
    const events: z.infer<typeof Events>["events"] = []
    // The event before `from` proves that the cursor is valid; the one after the page tells if
    // there are more.
    const reading = { from: Math.max(0, from - 1), limit: MAX_EVENTS + 2 }
    let isValidCursor = from === 0
    for await (const page of ports.store.read(stream, reading)) {
      for (const { revision, id, type, data, metadata } of page) {
        isValidCursor = true
        if (revision >= from) events.push({ stream, revision, id, type, data, metadata })
      }
    }
    if (!isValidCursor) return { ok: false, refusal: invalidRefusal({ cursor: INVALID_CURSOR }) }
    const page = events.slice(0, MAX_EVENTS)
    const last = page.at(-1)
    const cursor = String(last === undefined ? from : last.revision + 1)
    const more = events.length > page.length ? { nextCursor: cursor } : {}
    return { ok: true, body: { events: page, ...more, cursor } }
  },
})
