/**
 * `GET /api/v1/billing/lines`: the billing history as JSON, oldest first: a line for each fact that
 * changed the funds. `nextCursor` gives those behind these; `cursor` those that come later.
 */
import { z } from "zod"
import { formatInstant } from "../../domain/kernel/instant.ts"
import type { CompanyId } from "../../domain/kernel/ids.ts"
import { monthEnd } from "../../domain/kernel/window.ts"
import { resourceId } from "../../domain/kernel/resource.ts"
import { itemLabelOf, itemUnitOf } from "../../domain/charging/items.ts"
import type { BillLine } from "../../projections/charging/billing-lines.ts"
import { listBillLines, revisionBeforeInstant } from "../../projections/charging/billing-lines.ts"
import { cursorForNumber, cursorSchema, parseNumberCursor } from "../frame/routes/lists.ts"
import { route } from "../frame/routes/declare/route.ts"
import type { Ports } from "../frame/ports.ts"
import {
  describedId,
  describedIdOrNull,
  isoTimeSchema,
  microsSchema,
  sinceTimeSchema,
} from "../frame/kernel/schema.ts"
import { BillRejected } from "./bill.ts"
import { BILL_FORMATS, BILL_FORMAT_SPECS } from "./formats.ts"
import { openBill } from "./open-bill.ts"
import type { BillTarget } from "./write-bill.ts"
import { writeOpenedBill } from "./write-bill.ts"
import { refusal } from "../frame/routes/answers/refusal.ts"
import { RATE_LIMITS } from "../frame/routes/checks/rate-limits.ts"

/** Why these routes are there, for the document. */
const BEYOND_SPEC =
  "Not in the specification: finance gets by HTTP what the command line exports. Not counted, not charged."

/** A UTC month. */
const monthText = z
  .string({ error: "Must be a month such as 2026-11." })
  .regex(/^\d{4}-(0[1-9]|1[0-2])$/, "Must be a month such as 2026-11.")

const MAX_LINES = 1_000
/** Behind every line there can be. */
const PAST_LAST_LINE = Number.MAX_SAFE_INTEGER
const CURSOR_LIST = "billing lines"

const Query = z.object({
  month: monthText.optional().meta({ description: "Only lines of this UTC month, YYYY-MM" }),
  since: sinceTimeSchema.optional(),
  cursor: cursorSchema
    .meta({ description: "The nextCursor or cursor of an answer of this list, as it is" })
    .optional(),
})

const LINE_KINDS = [
  "charge",
  "give_back",
  "api_calls",
  "rent",
  "purchase",
  "funds_added",
  "funds_corrected",
] as [BillLine["kind"], ...BillLine["kind"][]]

const Line = z
  .object({
    lineId: describedId("the line"),
    kind: z.enum(LINE_KINDS).describe("What changed the funds"),
    chargeId: describedIdOrNull("the charge; null where it is none"),
    corrects: z.string().nullable().meta({ description: "The charge that was given back" }),
    at: isoTimeSchema.describe("When it was recorded: the bill is that of this month"),
    servedFrom: isoTimeSchema
      .nullable()
      .describe("From when on it was served, where that was before"),
    item: z.string().nullable().describe("What was bought; null where nothing was"),
    itemName: z.string().nullable().describe("What it is called for people"),
    quantity: z.int().nullable().describe("How many of it"),
    unit: z.string().nullable().describe("What one of it is"),
    unitPriceMicros: microsSchema.nullable().describe("What one costs, millionths of a dollar"),
    amountMicros: microsSchema.meta({
      description: "The change of the funds, millionths of a dollar: charges are below zero",
    }),
    personId: describedIdOrNull("whose spending it is; null for the company's own"),
    keyId: describedIdOrNull("the key that spent it; null for none"),
    class: z.string().nullable().describe("Which limits it weighs in: `ai` or `general`"),
    resource: describedIdOrNull("the thing that it is for; null for none"),
    priceVersion: z.int().nullable().describe("The version of the price book"),
    description: z
      .string()
      .nullable()
      .meta({
        description:
          "What the money was for: the reference of added funds, why it came back or was corrected, " +
          "the payment of a purchase; null where nobody said",
      }),
  })
  .meta({ id: "BillingLine", description: "A fact that changed the funds" })

const Lines = z.object({
  lines: z.array(Line).describe(`The oldest first, up to ${MAX_LINES}`),
  nextCursor: z
    .string()
    .optional()
    .meta({ description: "The `cursor` of those behind these; absent where there are none yet" }),
  cursor: z
    .string()
    .nullable()
    .meta({ description: "Where this list ends: send it later for what came meanwhile" }),
})

/** The route. */
export const listBillingLines = route({
  name: "listBillingLines",
  method: "GET",
  url: "/api/v1/billing/lines",
  group: "billing",
  summary: "List the billing history",
  operation: "billing.read",
  isCounted: false,
  query: Query,
  reply: Lines,
  readModels: ["charges"],
  beyondSpec: BEYOND_SPEC,
  handle: async (ports, { companyId }, { query }) => {
    const place =
      query.cursor === undefined ? null : parseNumberCursor(CURSOR_LIST, companyId, query.cursor)
    if (place !== null && "refusal" in place) return { ok: false, refusal: place.refusal }
    const { after, upTo } = await rangeOf(ports, companyId, query, place?.place ?? -1)
    // One more than is shown says whether there are more.
    const asked = { companyId, after, upTo, limit: MAX_LINES + 1 }
    const found = await ports.readAs(companyId, (db) => listBillLines(db, asked))
    const shown = found.slice(0, MAX_LINES)
    const end = shown.at(-1)?.revision ?? after
    const cursor =
      end < 0 || end === PAST_LAST_LINE ? null : cursorForNumber(CURSOR_LIST, companyId, end)
    const more = found.length > shown.length && cursor !== null ? { nextCursor: cursor } : {}
    const lines = shown.map((line) => toLineView(companyId, line))
    return { ok: true, body: { lines, ...more, cursor } }
  },
})

/** The revisions that a query asks for: behind `after`, at most `upTo`. */
async function rangeOf(
  ports: Pick<Ports, "readAs">,
  companyId: CompanyId,
  { month, since }: z.infer<typeof Query>,
  behind: number,
): Promise<{ readonly after: number; readonly upTo: number }> {
  const before = (at: number) =>
    ports.readAs(companyId, (db) => revisionBeforeInstant(db, companyId, new Date(at - 1)))
  const starts = [behind]
  let upTo = PAST_LAST_LINE
  // Where nothing is later there is nothing to show.
  if (since !== undefined) starts.push((await before(since.getTime() + 1)) ?? upTo)
  if (month !== undefined) {
    const from = Date.parse(`${month}-01T00:00:00.000Z`)
    starts.push((await before(from)) ?? upTo)
    upTo = (await before(monthEnd(from))) ?? upTo
  }
  return { after: Math.max(...starts), upTo }
}

function toLineView(companyId: CompanyId, line: BillLine): z.infer<typeof Line> {
  const { revision, kind, at, servedFrom, item, amountMicros, resource } = line
  const text = (value: string) => (value === "" ? null : value)
  const number = (value: string) => (value === "" ? null : Number(value))
  return {
    lineId: `${companyId}:${revision}`,
    kind,
    chargeId: text(line.chargeId),
    corrects: text(line.corrects),
    at: formatInstant(at),
    servedFrom: servedFrom === null ? null : formatInstant(servedFrom),
    item: text(item),
    itemName: text(itemLabelOf(item)),
    quantity: number(line.quantity),
    unit: text(itemUnitOf(item)),
    unitPriceMicros: number(line.unitPriceMicros),
    amountMicros,
    personId: text(line.personId),
    keyId: text(line.keyId),
    class: text(line.class),
    resource: resource === "" ? null : resourceId(resource),
    priceVersion: number(line.priceVersion),
    description: text(line.description),
  }
}

// `GET /api/v1/billing/export`: a month's bill as a file, sent while it is made. Where its lines turn
// out not to add up the connection ends before the file does, so nobody takes it for whole.

const RETRY_AFTER = { "retry-after": "5" }

const ExportQuery = z.object({
  month: monthText.meta({ description: "The UTC month, YYYY-MM" }),
  format: z
    .enum(BILL_FORMATS, { error: `Must be one of ${BILL_FORMATS.join(", ")}.` })
    .describe("The form of the file"),
})

/** The route. */
export const exportBill = route({
  name: "exportBill",
  method: "GET",
  url: "/api/v1/billing/export",
  group: "billing",
  summary: "Export a month's bill as a file",
  // A month that is: the one in which it is asked.
  example: (at) => ({ query: { month: new Date(at).toISOString().slice(0, 7), format: "csv" } }),
  operation: "billing.read",
  isCounted: false,
  rateLimit: RATE_LIMITS.export,
  query: ExportQuery,
  reply: z.string().describe("The file"),
  fileTypes: [...new Set(BILL_FORMATS.map((format) => BILL_FORMAT_SPECS[format].mediaType))],
  refusalCodes: ["conflict"],
  beyondSpec: BEYOND_SPEC,
  handle: async (ports, { companyId }, { query: { month, format } }) => {
    try {
      const bill = await openBill(ports, { companyId, month })
      const { mediaType, extension } = BILL_FORMAT_SPECS[format]
      const file = {
        mediaType,
        name: `${companyId}-${month}.${extension}`,
        write: async (target: BillTarget) => {
          await writeOpenedBill(ports, bill, format, target)
        },
      }
      return { ok: true, body: "", streamedBody: file }
    } catch (error) {
      if (!(error instanceof BillRejected)) throw error
      if (error.code === "validation") {
        const fields = { month: error.message }
        const message = `The request is not valid: month: ${error.message}`
        return { ok: false, refusal: refusal("validation", message, { fields }) }
      }
      const refused = refusal(error.code, error.message)
      const isLater = error.code === "unavailable"
      return { ok: false, refusal: isLater ? { ...refused, headers: RETRY_AFTER } : refused }
    }
  },
})
