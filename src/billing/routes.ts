/** The billing routes: lines as JSON, and a month's bill as a file. */
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

/** The note on these routes in the API document. */
const BEYOND_SPEC =
  "Not in the specification: finance gets over HTTP what the command line exports. Not counted or charged."

const monthText = z
  .string({ error: "Must be a month such as 2026-11." })
  .regex(/^\d{4}-(0[1-9]|1[0-2])$/, "Must be a month such as 2026-11.")

const MAX_LINES = 1_000
/** Above the revision of every line. */
const PAST_LAST_LINE = Number.MAX_SAFE_INTEGER
const CURSOR_LIST = "billing lines"

const Query = z.object({
  month: monthText.optional().meta({ description: "Only lines of this UTC month, YYYY-MM" }),
  since: sinceTimeSchema.optional(),
  cursor: cursorSchema
    .meta({ description: "The nextCursor or cursor of an earlier answer, unchanged" })
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
    kind: z.enum(LINE_KINDS).describe("The kind of change"),
    chargeId: describedIdOrNull("the charge; null if the line is not a charge"),
    corrects: z.string().nullable().meta({ description: "The refunded charge" }),
    at: isoTimeSchema.describe("Time of recording; the line is in this month's bill"),
    servedFrom: isoTimeSchema
      .nullable()
      .describe("Start of the service, if it is earlier than `at`"),
    item: z.string().nullable().describe("The item; null for none"),
    itemName: z.string().nullable().describe("The item's name for people"),
    quantity: z.int().nullable().describe("The quantity"),
    unit: z.string().nullable().describe("The unit"),
    unitPriceMicros: microsSchema.nullable().describe("The unit price, millionths of a dollar"),
    amountMicros: microsSchema.meta({
      description: "The change of the funds, millionths of a dollar; charges are negative",
    }),
    personId: describedIdOrNull("the person who spent it; null for the company itself"),
    keyId: describedIdOrNull("the key that spent it; null for none"),
    class: z.string().nullable().describe("The spending class: `ai` or `general`"),
    resource: describedIdOrNull("the resource it is for; null for none"),
    priceVersion: z.int().nullable().describe("The version of the price book"),
    description: z
      .string()
      .nullable()
      .meta({
        description:
          "The reference of added funds, the reason of a refund or correction, or the payment of a " +
          "purchase; null for none",
      }),
  })
  .meta({ id: "BillingLine", description: "A fact that changed the funds" })

const Lines = z.object({
  lines: z.array(Line).describe(`Oldest first, up to ${MAX_LINES}`),
  nextCursor: z
    .string()
    .optional()
    .meta({ description: "The `cursor` of the next page; absent if there is none yet" }),
  cursor: z
    .string()
    .nullable()
    .meta({ description: "The end of this page: send it later to read newer lines" }),
})

/**
 * `GET /api/v1/billing/lines`: the billing history, a line for each fact that changed the funds.
 */
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
    const parsed =
      query.cursor === undefined ? null : parseNumberCursor(CURSOR_LIST, companyId, query.cursor)
    if (parsed !== null && "refusal" in parsed) return { ok: false, refusal: parsed.refusal }
    const { after, upTo } = await rangeOf(ports, companyId, query, parsed?.place ?? -1)
    // One more than is shown, to find out whether there are more.
    const listQuery = { companyId, after, upTo, limit: MAX_LINES + 1 }
    const found = await ports.readAs(companyId, (db) => listBillLines(db, listQuery))
    const page = found.slice(0, MAX_LINES)
    const end = page.at(-1)?.revision ?? after
    const cursor =
      end < 0 || end === PAST_LAST_LINE ? null : cursorForNumber(CURSOR_LIST, companyId, end)
    const more = found.length > page.length && cursor !== null ? { nextCursor: cursor } : {}
    const lines = page.map((line) => toLineView(companyId, line))
    return { ok: true, body: { lines, ...more, cursor } }
  },
})

/** The revisions of a query: above `after`, at most `upTo`. */
async function rangeOf(
  ports: Pick<Ports, "readAs">,
  companyId: CompanyId,
  { month, since }: z.infer<typeof Query>,
  cursorRevision: number,
): Promise<{ readonly after: number; readonly upTo: number }> {
  const before = (at: number) =>
    ports.readAs(companyId, (db) => revisionBeforeInstant(db, companyId, new Date(at - 1)))
  const starts = [cursorRevision]
  let upTo = PAST_LAST_LINE
  // If no revision is later, the range is empty.
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

const RETRY_AFTER = { "retry-after": "5" }

const ExportQuery = z.object({
  month: monthText.meta({ description: "The UTC month, YYYY-MM" }),
  format: z
    .enum(BILL_FORMATS, { error: `Must be one of ${BILL_FORMATS.join(", ")}.` })
    .describe("The file format"),
})

/**
 * `GET /api/v1/billing/export`: a month's bill, streamed while it is written. If the lines do not
 * add up, the connection ends before the file is complete.
 */
export const exportBill = route({
  name: "exportBill",
  method: "GET",
  url: "/api/v1/billing/export",
  group: "billing",
  summary: "Export a month's bill as a file",
  // The current month always has a bill.
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
