import { phoneStreamOf } from "../../domain/phone/aggregates.ts"
import { listHeldNumbers } from "../../domain/phone/phone-views.ts"
import { registrationStreamOf } from "../../domain/registration/aggregates.ts"
import { causeOf } from "../frame/routes/api-call.ts"
import { route } from "../frame/routes/declare/route.ts"
import { registrationRefusal } from "./registration-refusals.ts"
import {
  RegistrationStatus,
  numbersToRegister,
  readRegistrationStatus,
} from "./registration-status.ts"

const NOTHING = "No submission is waiting for the carriers. Send the registration first."

/** Approves waiting submissions in test mode, in place of the carriers. */
export const confirmRegistration = route({
  name: "confirmRegistration",
  method: "POST",
  url: "/api/v1/phone/registration/confirm",
  group: "phone",
  summary: "Approve waiting submissions in test mode",
  operation: "phone.registration.submit",
  roles: ["owner", "admin"],
  roleRefusalCode: "role",
  isCounted: true,
  reply: RegistrationStatus,
  refusalCodes: ["conflict", "role"],
  refusalMessages: { conflict: NOTHING },
  specGap: "The specification does not show the method: POST, because it approves submissions.",
  handle: async (ports, caller) => {
    const { companyId } = caller
    const held = await ports.runner.read(phoneStreamOf(companyId), listHeldNumbers)
    const numberIds = numbersToRegister(held, { testMode: true }).map(({ numberId }) => numberId)
    const command = { type: "ApproveTestSubmissions" as const, numberIds }
    const done = await ports.runner.execute(
      registrationStreamOf(companyId),
      command,
      causeOf(caller),
    )
    if (!done.accepted) return { ok: false, refusal: registrationRefusal(done.refusal) }
    const body = await readRegistrationStatus(ports, companyId)
    return { ok: true, body, position: done.position }
  },
})
