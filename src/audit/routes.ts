/** API routes of an auditor: refused charges, limits, and what-if questions. */
import { z } from "zod"
import { parseKeyId } from "../../domain/kernel/ids.ts"
import { listRefusals } from "../../projections/charging/refusals.ts"
import { toRefusalView, LimitView, refusalCode, toLimitView } from "./refusal-view.ts"
import { cursorForNumber, cursorSchema, parseNumberCursor } from "../frame/routes/lists.ts"
import { route } from "../frame/routes/declare/route.ts"
import {
  describedId,
  describedIdOrNull,
  isoTimeSchema,
  microsSchema,
  boundedText,
} from "../frame/kernel/schema.ts"
import { ledgerStreamOf } from "../../domain/charging/aggregates.ts"
import { accountOf, applicableLimits } from "../../domain/charging/ledger-views.ts"
import type { LedgerState } from "../../domain/charging/ledger-state.ts"
import type { Spender } from "../../domain/charging/limits.ts"
import { itemByName } from "../../domain/charging/items.ts"
import { NoSuchPosition, answerWhatIf } from "./what-if.ts"
import { refusal } from "../frame/routes/answers/refusal.ts"

const MAX_REFUSALS = 200
const CURSOR_LIST = "refusals"

const Query = z.object({
  key: z.string().optional().meta({ description: "Only refusals of this key, by id" }),
  cursor: cursorSchema.optional(),
})

const Refusal = z
  .object({
    revision: z.int().meta({ description: "Revision of its fact in the stream of refusals" }),
    at: isoTimeSchema.describe("Time of the first refusal"),
    code: refusalCode,
    chargeId: describedId("the charge that was refused"),
    keyId: describedIdOrNull("the key; null for none"),
    personId: describedIdOrNull("the person; null for none"),
    class: z.string().describe("The spending class: `ai` or `general`"),
    item: z.string().describe("The item"),
    quantity: z.int().describe("The quantity"),
    amountMicros: microsSchema.describe("The amount of the charge, millionths of a dollar"),
    resource: describedIdOrNull("the resource it was for; null for none"),
    ledgerRevision: z.int().meta({ description: "Revision of the ledger that it was decided on" }),
    fundsMicros: microsSchema.describe("The funds at that moment, millionths of a dollar"),
    creditLineMicros: microsSchema.describe(
      "How far below zero the funds could go, millionths of a dollar",
    ),
    limit: LimitView.nullable().meta({ description: "The limit that stopped it" }),
    times: z.int().meta({ description: "How often it was refused, including counted refusals" }),
    lastAt: isoTimeSchema.meta({
      description: "Time of the last refusal; of a counted refusal the start of its minute",
    }),
  })
  .meta({
    id: "RefusedCharge",
    description: "A refused charge, with the evidence",
  })

const Refusals = z.object({
  refusals: z.array(Refusal).describe(`Newest first, up to ${MAX_REFUSALS}`),
  nextCursor: z.string().optional().meta({ description: "The `cursor` of the next page" }),
})

/** `GET /api/v1/refusals`: the company's refused charges, newest first. */
export const listRefusalsRoute = route({
  name: "listRefusals",
  method: "GET",
  url: "/api/v1/refusals",
  group: "ledger",
  summary: "List refused charges and the limit that stopped each, newest first",
  operation: "ledger.read",
  isCounted: false,
  query: Query,
  reply: Refusals,
  readModels: ["refusals"],
  beyondSpec: "Every refusal can be read with its evidence.",
  handle: async (ports, { companyId }, { query }) => {
    const { key, cursor } = query
    const parsed = cursor === undefined ? null : parseNumberCursor(CURSOR_LIST, companyId, cursor)
    if (parsed !== null && "refusal" in parsed) return { ok: false, refusal: parsed.refusal }
    const before = parsed?.place ?? null
    const keyId = key === undefined ? null : parseKeyId(key)
    // An unknown key has no refusals.
    if (key !== undefined && keyId === null) return { ok: true, body: { refusals: [] } }
    const listQuery = { companyId, keyId, before, limit: MAX_REFUSALS + 1 }
    const rows = await ports.readAs(companyId, (db) => listRefusals(db, listQuery))
    const page = rows.slice(0, MAX_REFUSALS)
    const last = rows.length > page.length ? page.at(-1) : undefined
    const more =
      last === undefined
        ? {}
        : { nextCursor: cursorForNumber(CURSOR_LIST, companyId, last.revision) }
    return { ok: true, body: { refusals: page.map(toRefusalView), ...more } }
  },
})

const Limits = z.object({
  limits: z.array(LimitView).meta({
    description: "The limits that apply to a charge by this key, in the order key, person, company",
  }),
  funds: z
    .object({
      fundsMicros: microsSchema.describe("The funds, millionths of a dollar"),
      creditLineMicros: microsSchema.describe(
        "How far below zero the funds may go, millionths of a dollar",
      ),
      availableMicros: microsSchema.meta({
        description: "Funds plus credit line that can still be spent, millionths of a dollar",
      }),
      prepaidOnly: z.boolean().describe("Whether the company pays from funds only"),
      locked: z.boolean().describe("Whether the account is locked because a payment failed"),
    })
    .describe("The company's funds"),
})

/** `GET /api/v1/limits`: the limits of the key, and the funds. */
export const readLimitsRoute = route({
  name: "readLimits",
  method: "GET",
  url: "/api/v1/limits",
  group: "ledger",
  summary: "Read the limits that apply to this key, and the funds",
  operation: "ledger.read",
  isCounted: false,
  reply: Limits,
  readStreams: [ledgerStreamOf],
  beyondSpec: "A caller sees a refusal coming, and when the limit resets.",
  handle: async (ports, { companyId, spender }) => ({
    ok: true,
    body: await ports.runner.read(ledgerStreamOf(companyId), (state, at) =>
      toLimitsView(state, spender, at),
    ),
  }),
})

function toLimitsView(state: LedgerState, spender: Spender, at: number): z.infer<typeof Limits> {
  const applying = (["ai", "general"] as const).flatMap((one) =>
    applicableLimits(state, spender, one, at, 0),
  )
  const order = ["key", "person", "company"]
  const limits = applying
    // A key's own limit covers every class, so it is found twice.
    .filter((limit, i) => limit.class !== "all" || applying.findIndex(isKeyLimit) === i)
    .toSorted((a, b) => order.indexOf(a.holder) - order.indexOf(b.holder))
  const { fundsMicros, creditLineMicros, prepaidOnly, locked } = accountOf(state)
  const availableMicros = locked ? 0 : Math.max(0, fundsMicros + creditLineMicros)
  const funds = { fundsMicros, creditLineMicros, availableMicros, prepaidOnly, locked }
  return { limits: limits.map(toLimitView), funds }
}

const isKeyLimit = (limit: { readonly class: string }): boolean => limit.class === "all"

const MAX_ITEM_CHARACTERS = 100

const Question = z.object({
  item: boundedText(MAX_ITEM_CHARACTERS).meta({
    description: "The item, by its name in the price book",
  }),
  quantity: z
    .int({ error: "Must be a whole number." })
    .min(1, "Must be 1 or more.")
    .max(1_000_000_000, "Must be at most 1,000,000,000.")
    .describe("The quantity"),
  at: boundedText(MAX_ITEM_CHARACTERS).optional().meta({
    description: "An earlier `Ledger-Position`, or `revision:N` of the ledger; default now",
  }),
})

const StoppingLimit = LimitView.extend({
  askedMicros: microsSchema.describe("The amount of the charge, millionths of a dollar"),
  unrecordedMicros: microsSchema.describe(
    "Part of the usage from calls that are counted and not stored yet, millionths of a dollar",
  ),
  windowStart: isoTimeSchema.describe("Start of its day, week or month"),
}).meta({ id: "StoppingLimit", description: "A limit that stops the charge" })

const Answer = z.object({
  fits: z.boolean().describe("Whether the charge would be accepted"),
  code: refusalCode.nullable().describe("Why not; null if it fits"),
  item: z.string().describe("The item, by its name in the ledger"),
  quantity: z.int().describe("The quantity"),
  unitPriceMicros: microsSchema.describe("The price of one unit, millionths of a dollar"),
  amountMicros: microsSchema.describe("The total, millionths of a dollar"),
  limit: StoppingLimit.nullable().describe("The limit that stops it; null for none"),
  fitsAt: isoTimeSchema.nullable().meta({
    description:
      "When it would fit if nothing else were spent; null if only funds, an owner or a larger limit help",
  }),
  shortMicros: microsSchema.describe("How much funds are missing, millionths of a dollar"),
  fundsMicros: microsSchema.describe("The funds, millionths of a dollar"),
  creditLineMicros: microsSchema.describe(
    "How far below zero the funds may go, millionths of a dollar",
  ),
  ledgerRevision: z.int().describe("Revision of the ledger that this was decided on"),
  at: isoTimeSchema.describe("Time of the decision"),
})

/** `POST /api/v1/ledger/ask`: whether a charge by this key would fit. */
export const askLedger = route({
  name: "askLedger",
  method: "POST",
  url: "/api/v1/ledger/ask",
  group: "ledger",
  summary: "Ask whether a charge by this key would fit",
  example: { body: { item: "text", quantity: 3 } },
  operation: "ledger.read",
  isCounted: false,
  body: Question,
  reply: Answer,
  readStreams: [ledgerStreamOf],
  beyondSpec: "A decision can be asked for in advance; nothing is charged or stored.",
  handle: async (ports, { companyId, spender }, { body }) => {
    const { item: named, quantity, at = null } = body
    const item = itemByName(named)
    if (item === null) {
      const message = `Item "${named}" is not in the price book; the operator's command "price list" shows its items.`
      return invalid("item", message)
    }
    try {
      const question = { companyId, spender, item, quantity, at }
      return { ok: true, body: await answerWhatIf(ports, question) }
    } catch (error) {
      if (!(error instanceof NoSuchPosition)) throw error
      return invalid("at", error.message)
    }
  },
})

function invalid(field: string, message: string) {
  const fields = { [field]: message }
  return { ok: false as const, refusal: refusal("validation", message, { fields }) }
}
