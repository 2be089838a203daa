import type {
  RegistrationRefusalCode,
  RegistrationRefused,
} from "../../domain/registration/registration-commands.ts"
import type { Refusal } from "../frame/routes/answers/refusal.ts"
import { refusal } from "../frame/routes/answers/refusal.ts"
import { invalidRefusal } from "../frame/routes/checks/7-values.ts"

const STEPS: Readonly<Record<string, string>> = {
  business: "save the business details (PUT /api/v1/phone/business)",
  pages: "save the pages (PUT /api/v1/phone/pages)",
  pages_check: "pass the page check (POST /api/v1/phone/pages/check)",
  campaign: "save the campaign (PUT /api/v1/phone/campaign)",
  business_review:
    "send the business (POST /api/v1/phone/registration/business) and wait for its approval",
}

const REFUSAL_MESSAGES: Readonly<
  Record<Exclude<RegistrationRefusalCode, "missing" | "brand_type">, string>
> = {
  waiting: "The carriers are reviewing this. You can change or send it after they answer.",
  approved: "The carriers have approved this. It cannot be changed or sent again.",
  abandoned: "This submission was abandoned. Send it again.",
  changed: "The pages were saved again during the check. Check them again.",
  fee: "The fee has changed in the meantime. Send it again to accept the new fee.",
  live: "This registration is not in test mode. Only the carriers can approve it.",
  nothing_waits: "No submission is waiting for the carriers. Send the registration first.",
}

/** The example message of a missing step, for the API document. */
export const MISSING_STEPS_MESSAGE =
  "Do this first: save the business details (PUT /api/v1/phone/business)."

/** A refusal that lists the missing steps in order. */
export function missingStepsRefusal(missing: readonly string[]): Refusal {
  const steps = missing.map((one) => STEPS[one] ?? one)
  return refusal("conflict", `Do this first: ${steps.join("; then ")}.`, { missing })
}

/** Converts a registration refusal into an API refusal. */
export function registrationRefusal({
  code,
  missing,
}: Pick<RegistrationRefused, "code" | "missing">): Refusal {
  switch (code) {
    case "missing":
      return missingStepsRefusal(missing)
    case "brand_type":
      return invalidRefusal({
        brandType: "Must be sole_proprietor if, and only if, the business is a sole proprietor.",
      })
    default:
      return refusal("conflict", REFUSAL_MESSAGES[code])
  }
}
