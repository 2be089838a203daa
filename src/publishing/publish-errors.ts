/** The refusals that publishing alone has (specification, "Errors"). */
import type { SliceErrorCode, Refusal } from "../frame/routes/answers/refusal.ts"
import { refusal } from "../frame/routes/answers/refusal.ts"

/** There is no such commit. */
export const COMMIT_NOT_FOUND: SliceErrorCode = {
  error: "commit_not_found",
  status: 404,
  example: { message: "No branch or tag of the company's code has this commit; push it first." },
}

/** The commit is not the company's to publish, or does not say how. */
export const BAD_COMPANY_FILE: SliceErrorCode = {
  error: "company_file",
  status: 403,
  example: {
    message: "The company file (company.json) of this commit does not name this company.",
  },
}

const RETRY_S = "60"
const UNAVAILABLE_MESSAGE =
  "Publishing is off, or cannot be begun now; nothing was charged. Try again in a minute."

/** The refusal where nothing can be published now. */
export function publishingUnavailable(): Refusal {
  const why = refusal("unavailable", UNAVAILABLE_MESSAGE)
  return { ...why, headers: { "retry-after": RETRY_S } }
}

/** The refusal of a company file. */
export function badCompanyFile(fault: string): Refusal {
  return refusal(BAD_COMPANY_FILE, `The company file (company.json) of this commit ${fault}.`)
}
