/** The API by a session instead of a key: its own routes, below `/console/<company>`. */
import type { WayIn } from "../frame/routes/call.ts"
import { whoAsks } from "./session.ts"

/** What stands before the paths of a company. */
export const AT_COMPANY = "/console/:company"

/** The way. */
export const bySession: WayIn = { at: AT_COMPANY, who: whoAsks }
