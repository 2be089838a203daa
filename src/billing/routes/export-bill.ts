/**
 * `GET /api/v1/billing/export`: a month's bill as a file, sent while it is made. Where its lines turn
 * out not to add up the connection ends before the file does, so nobody takes it for whole.
 */
import { z } from "zod"
import { BillRefused } from "../bill.ts"
import { BILL_FORMATS, BILL_FORMS } from "../formats.ts"
import { openBill } from "../open-bill.ts"
import type { BillTarget } from "../write-bill.ts"
import { writeOpened } from "../write-bill.ts"
import { refusal } from "../../frame/routes/answers/refusal.ts"
import { RATE_LIMITS } from "../../frame/routes/checks/rate-limits.ts"
import { route } from "../../frame/routes/declare/route.ts"
import { BEYOND_SPEC, monthText } from "./list-lines.ts"

const RETRY_AFTER = { "retry-after": "5" }

const Query = z.object({
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
  counted: false,
  limit: RATE_LIMITS.export,
  query: Query,
  reply: z.string().describe("The file"),
  files: [...new Set(BILL_FORMATS.map((format) => BILL_FORMS[format].mediaType))],
  refuses: ["conflict"],
  beyondSpec: BEYOND_SPEC,
  handle: async (ports, { companyId }, { query: { month, format } }) => {
    try {
      const bill = await openBill(ports, { companyId, month })
      const { mediaType, extension } = BILL_FORMS[format]
      const file = {
        mediaType,
        name: `${companyId}-${month}.${extension}`,
        write: async (target: BillTarget) => {
          await writeOpened(ports, bill, format, target)
        },
      }
      return { ok: true, body: "", sends: file }
    } catch (error) {
      if (!(error instanceof BillRefused)) throw error
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
