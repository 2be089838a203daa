/** How streams are named: `<category>`, `<category>-<companyId>` or `<category>-<companyId>-<rest>`. */
import type { CompanyId } from "./ids.ts"
import { parseCompanyId } from "./ids.ts"

/** The part of a stream's name that says which decider it belongs to. */
export function categoryOf(stream: string): string {
  const dash = stream.indexOf("-")
  return dash === -1 ? stream : stream.slice(0, dash)
}

/** The company a stream belongs to; null for streams of the whole installation. */
export function companyOf(stream: string): CompanyId | null {
  const [, company] = stream.split("-")
  return company === undefined ? null : parseCompanyId(company)
}

/** The part of a stream's name after its company; null where it has none. */
export function restOf(stream: string): string | null {
  const parts = stream.split("-")
  return parts.length > 2 ? parts.slice(2).join("-") : null
}
