/** `GET /api/v1/refusals`: the charges of this company that were refused, newest first. */
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
/** What a cursor of this list is made for. */
const CURSOR_LIST = "refusals"

const Query = z.object({
  key: z.string().optional().meta({ description: "Only of this key, by id" }),
  cursor: cursorSchema.optional(),
})

const Refusal = z
  .object({
    revision: z.int().meta({ description: "Of its fact in the stream of refusals" }),
    at: isoTimeSchema.describe("When it was refused first"),
    code: refusalCode,
    chargeId: describedId("the charge that was not made"),
    keyId: describedIdOrNull("the key; null for none"),
    personId: describedIdOrNull("the person; null for none"),
    class: z.string().describe("Which limits it weighs in: `ai` or `general`"),
    item: z.string().describe("What was to be bought"),
    quantity: z.int().describe("How many of it"),
    amountMicros: microsSchema.describe("What it would have cost, millionths of a dollar"),
    resource: describedIdOrNull("the thing that it was for; null for none"),
    ledgerRevision: z.int().meta({ description: "The last fact of the ledger that was known" }),
    fundsMicros: microsSchema.describe("The funds at that moment, millionths of a dollar"),
    creditLineMicros: microsSchema.describe(
      "What could be spent beyond the funds, millionths of a dollar",
    ),
    limit: LimitView.nullable().meta({ description: "The limit that stopped it" }),
    times: z.int().meta({ description: "How often, those included that were only counted" }),
    lastAt: isoTimeSchema.meta({
      description: "When it was last; of one that was only counted the beginning of its minute",
    }),
  })
  .meta({
    id: "RefusedCharge",
    description: "A charge that was refused, and what it was decided by",
  })

const Refusals = z.object({
  refusals: z.array(Refusal).describe(`The newest first, up to ${MAX_REFUSALS}`),
  nextCursor: z.string().optional().meta({ description: "The `cursor` of earlier ones" }),
})

/** The route. */
export const listRefusalsRoute = route({
  name: "listRefusals",
  method: "GET",
  url: "/api/v1/refusals",
  group: "ledger",
  summary: "List refused charges and what stopped each, newest first",
  operation: "ledger.read",
  isCounted: false,
  query: Query,
  reply: Refusals,
  readModels: ["refusals"],
  beyondSpec: "Every no can be asked for, with what it was decided by.",
  handle: async (ports, { companyId }, { query }) => {
    const { key, cursor } = query
    const place = cursor === undefined ? null : parseNumberCursor(CURSOR_LIST, companyId, cursor)
    if (place !== null && "refusal" in place) return { ok: false, refusal: place.refusal }
    const before = place?.place ?? null
    const keyId = key === undefined ? null : parseKeyId(key)
    // What is no key's id was refused nothing.
    if (key !== undefined && keyId === null) return { ok: true, body: { refusals: [] } }
    const asked = { companyId, keyId, before, limit: MAX_REFUSALS + 1 }
    const rows = await ports.readAs(companyId, (db) => listRefusals(db, asked))
    const shown = rows.slice(0, MAX_REFUSALS)
    const last = rows.length > shown.length ? shown.at(-1) : undefined
    const more =
      last === undefined
        ? {}
        : { nextCursor: cursorForNumber(CURSOR_LIST, companyId, last.revision) }
    return { ok: true, body: { refusals: shown.map(toRefusalView), ...more } }
  },
})

const Limits = z.object({
  limits: z.array(LimitView).meta({
    description: "Those that a charge by this key must fit, in the order key, person, company",
  }),
  funds: z
    .object({
      fundsMicros: microsSchema.describe("The funds, millionths of a dollar"),
      creditLineMicros: microsSchema.describe(
        "What may be spent beyond them, millionths of a dollar",
      ),
      availableMicros: microsSchema.meta({
        description: "What may still be spent as far as funds go, millionths of a dollar",
      }),
      prepaidOnly: z.boolean().describe("Whether the company pays from funds alone"),
      locked: z.boolean().describe("Whether a missed payment locks the account"),
    })
    .describe("What the company has to spend"),
})

/** The route. */
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
  beyondSpec: "A caller can see a no coming, and when it is over.",
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
    // A key's own limit counts every class: it is the same one both times.
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
    description: "What is bought, by its name in the price book",
  }),
  quantity: z
    .int({ error: "Must be a whole number." })
    .min(1, "Must be 1 or more.")
    .max(1_000_000_000, "Must be at most 1000000000.")
    .describe("How many of it"),
  at: boundedText(MAX_ITEM_CHARACTERS).optional().meta({
    description: "A former `Ledger-Position`, or `revision:N` of the ledger; default now",
  }),
})

const StoppingLimit = LimitView.extend({
  askedMicros: microsSchema.describe("What was asked of it, millionths of a dollar"),
  unrecordedMicros: microsSchema.describe(
    "Of what is used the calls that are counted and not recorded yet, millionths of a dollar",
  ),
  windowStart: isoTimeSchema.describe("When its day, week or month began"),
}).meta({ id: "StoppingLimit", description: "A limit that a charge does not fit under" })

const Answer = z.object({
  fits: z.boolean().describe("Whether it would be accepted"),
  code: refusalCode.nullable().describe("Why not; null where it fits"),
  item: z.string().describe("What was asked about, by its name in the ledger"),
  quantity: z.int().describe("How many of it"),
  unitPriceMicros: microsSchema.describe("What one costs, millionths of a dollar"),
  amountMicros: microsSchema.describe("What all cost, millionths of a dollar"),
  limit: StoppingLimit.nullable().describe("The limit that stops it; null where none does"),
  fitsAt: isoTimeSchema.nullable().meta({
    description:
      "When it would fit if nothing else were spent; null where only funds, an owner or a larger limit help",
  }),
  shortMicros: microsSchema.describe("How much the funds are short of, millionths of a dollar"),
  fundsMicros: microsSchema.describe("The funds, millionths of a dollar"),
  creditLineMicros: microsSchema.describe(
    "What may be spent beyond the funds, millionths of a dollar",
  ),
  ledgerRevision: z.int().describe("The last fact of the ledger that this was decided by"),
  at: isoTimeSchema.describe("When this was so"),
})

/** The route. */
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
  beyondSpec: "What would be decided can be asked before it is; nothing is charged or stored.",
  handle: async (ports, { companyId, spender }, { body }) => {
    const { item: named, quantity, at = null } = body
    const item = itemByName(named)
    if (item === null) return invalid("item", "Nothing of this name has a price.")
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
