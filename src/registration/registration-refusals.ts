/** What a registration refuses, as callers see it. */
import type {
  RegistrationRefusalCode,
  RegistrationRefused,
} from "../../domain/registration/registration-commands.ts"
import type { Refusal } from "../frame/routes/answers/refusal.ts"
import { refusal } from "../frame/routes/answers/refusal.ts"
import { invalidRefusal } from "../frame/routes/checks/7-values.ts"

/** What comes before each step, as `missing` names it, in words. */
const STEPS: Readonly<Record<string, string>> = {
  business: "save the business details (PUT /api/v1/phone/business)",
  pages: "save the pages (PUT /api/v1/phone/pages)",
  pages_check: "have the pages pass their check (POST /api/v1/phone/pages/check)",
  campaign: "save the campaign (PUT /api/v1/phone/campaign)",
  business_review:
    "send the business (POST /api/v1/phone/registration/business), until it is approved",
}

const REFUSAL_MESSAGES: Readonly<
  Record<Exclude<RegistrationRefusalCode, "missing" | "brand_type">, string>
> = {
  waiting: "This is with the carriers: it cannot change or be sent until they have answered.",
  approved: "The carriers have approved this already: it cannot change or be sent again.",
  abandoned: "This was given up; send it again.",
  changed: "The pages were saved anew while they were looked at; have them checked again.",
  fee: "What this costs has changed meanwhile; send it again.",
  live: "This registration is live: the carriers answer it, and nobody stands in for them.",
  nothing_waits: "Nothing waits for an answer of the carriers.",
}

/** The refusals of routes that save or send something, for the document. */
export const MISSING_STEPS_MESSAGE =
  "Something comes first: save the business details (PUT /api/v1/phone/business)."

/** A refusal where something comes first. */
export function missingStepsRefusal(missing: readonly string[]): Refusal {
  const steps = missing.map((one) => STEPS[one] ?? one)
  return refusal("conflict", `Something comes first: ${steps.join("; then ")}.`, { missing })
}

/** Why a command was refused. */
export function registrationRefusal({
  code,
  missing,
}: Pick<RegistrationRefused, "code" | "missing">): Refusal {
  switch (code) {
    case "missing":
      return missingStepsRefusal(missing)
    case "brand_type":
      return invalidRefusal({
        brandType: "Must be sole_proprietor for a sole proprietor, and for nobody else.",
      })
    default:
      return refusal("conflict", REFUSAL_MESSAGES[code])
  }
}
