/**
 * `GET /api/v1/billing/export`: a month's bill as a file, sent while it is made. Where its lines turn
 * out not to add up the connection ends before the file does, so nobody takes it for whole.
 */
import { z } from "zod"
import { BillRefused } from "../exports/bill.ts"
import { BILL_FORMATS, BILL_FORMS } from "../exports/formats.ts"
import type { BillRead } from "../exports/open-bill.ts"
import { openBill } from "../exports/open-bill.ts"
import { writeOpened } from "../exports/write-bill.ts"
import { refusal } from "../pipeline/refusal.ts"
import { route } from "../pipeline/route.ts"
import { BEYOND_SPEC, monthText } from "./schema.ts"

const WAIT_MS = 2_000
const RETRY_AFTER = { "retry-after": "5" }

const Query = z.object({
  month: monthText.meta({ description: "The UTC month, YYYY-MM" }),
  format: z.enum(BILL_FORMATS, { error: `Must be one of ${BILL_FORMATS.join(", ")}.` }),
})

/** The route. */
export const exportBill = route<unknown, z.infer<typeof Query>, string>({
  method: "GET",
  url: "/api/v1/billing/export",
  group: "billing",
  summary: "Export a month's bill as a file",
  operation: "billing.read",
  counted: false,
  limit: "export",
  query: Query,
  reply: z.string(),
  files: [...new Set(BILL_FORMATS.map((format) => BILL_FORMS[format].mediaType))],
  refuses: ["conflict"],
  beyondSpec: BEYOND_SPEC,
  handle: async (ports, { companyId }, { query: { month, format } }) => {
    // Each page is read by itself: whoever takes long holds no connection meanwhile.
    const read: BillRead = (query) => ports.readAs(companyId, query)
    const asked = { companyId, month, read, format, waitMs: WAIT_MS }
    try {
      const bill = await openBill(ports, asked)
      const { mediaType, extension } = BILL_FORMS[format]
      const file = {
        mediaType,
        name: `${companyId}-${month}.${extension}`,
        write: async (target: Parameters<typeof writeOpened>[3]) => {
          await writeOpened(ports, bill, asked, target)
        },
      }
      return { ok: true, body: "", file }
    } catch (error) {
      if (!(error instanceof BillRefused)) throw error
      const refused = refusal(error.code, error.message)
      const isLater = error.code === "unavailable"
      return { ok: false, refusal: isLater ? { ...refused, headers: RETRY_AFTER } : refused }
    }
  },
})
