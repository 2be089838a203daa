/** The refusals that only publishing has (specification, "Errors"). */
import type { SliceErrorCode, Refusal } from "../frame/routes/answers/refusal.ts"
import { refusal } from "../frame/routes/answers/refusal.ts"

/** The commit does not exist. */
export const COMMIT_NOT_FOUND: SliceErrorCode = {
  error: "commit_not_found",
  status: 404,
  example: { message: "No branch or tag of the company's code has this commit. Push it first." },
}

/** The company file is missing or invalid, or names another company. */
export const BAD_COMPANY_FILE: SliceErrorCode = {
  error: "company_file",
  status: 403,
  example: {
    message: "The company file (company.json) of this commit does not name this company.",
  },
}

const RETRY_S = "60"
const UNAVAILABLE_MESSAGE =
  "Publishing is off or unavailable. Nothing was charged. Try again in a minute."

/** The refusal when publishing is not possible now. */
export function publishingUnavailable(): Refusal {
  const why = refusal("unavailable", UNAVAILABLE_MESSAGE)
  return { ...why, headers: { "retry-after": RETRY_S } }
}

/** The refusal of a company file; `fault` is a clause that follows "The company file". */
export function badCompanyFile(fault: string): Refusal {
  return refusal(BAD_COMPANY_FILE, `The company file (company.json) of this commit ${fault}.`)
}
