/** The routes of billing, beyond the specification. */
import type { Route } from "../../frame/calls/route.ts"
import { exportBill } from "./export-bill.ts"
import { listLines } from "./list-lines.ts"

/** Bills and their lines. */
export const billingRoutes: readonly Route[] = [listLines, exportBill]
