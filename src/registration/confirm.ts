/** `POST /api/v1/phone/registration/confirm`: in test mode, approves what waits. */
import { phoneOf } from "../../domain/phone/aggregates.ts"
import { heldNumbers } from "../../domain/phone/phone-views.ts"
import { registrationOf } from "../../domain/registration/aggregates.ts"
import { causeOf } from "../frame/routes/call.ts"
import { route } from "../frame/routes/declare/route.ts"
import { registrationRefusal } from "./refused.ts"
import { RegistrationStatus, registeredNumbers, registrationStatus } from "./status.ts"

const NOTHING = "Nothing waits for an answer of the carriers."

/** The route. */
export const confirmRegistration = route({
  name: "confirmRegistration",
  method: "POST",
  url: "/api/v1/phone/registration/confirm",
  group: "phone",
  summary: "Stand in for the carriers in test mode: what waits is approved",
  operation: "phone.registration.submit",
  roles: ["owner", "admin"],
  roleRefusal: "role",
  counted: true,
  reply: RegistrationStatus,
  refuses: ["conflict", "role"],
  says: { conflict: NOTHING },
  specGap: "The specification does not show the verb: POST, because it confirms something.",
  handle: async (ports, caller) => {
    const { companyId } = caller
    const held = await ports.runner.read(phoneOf(companyId), heldNumbers)
    const numberIds = registeredNumbers(held, { testMode: true }).map(({ numberId }) => numberId)
    const command = { type: "ConfirmTest" as const, numberIds }
    const done = await ports.runner.execute(registrationOf(companyId), command, causeOf(caller))
    if (!done.accepted) return { ok: false, refusal: registrationRefusal(done.refusal) }
    const body = await registrationStatus(ports, companyId)
    return { ok: true, body, position: done.position }
  },
})
