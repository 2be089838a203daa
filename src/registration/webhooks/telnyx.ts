/** Telnyx webhooks for registrations. Their content is not trusted: it only triggers a status check. */
import type { RegistryEvent } from "../../../adapters/providers/registry/port.ts"
import { parseCompanyId } from "../../../domain/kernel/ids.ts"
import { parseSubmissionId } from "../../../domain/registration/ids.ts"
import { headerValue } from "../../frame/routes/api-call.ts"
import type { WebhookSpec } from "../../frame/routes/declare/webhook.ts"
import { webhook } from "../../frame/routes/declare/webhook.ts"
import { checkPartStatus } from "../reactions/check-part.ts"
import { checkNumberStatuses } from "../reactions/register-numbers.ts"

const webhookHandlers: Omit<WebhookSpec<RegistryEvent>, "provider" | "url"> = {
  verify: async ({ registry, clock }, raw, sent) => {
    const call = { target: sent.target, header: (name: string) => headerValue(sent, name), raw }
    const read = registry.readWebhook(call, clock.now())
    if (read === "forged") return null
    const events = read.events.map(({ id, event }) => ({
      id,
      event,
      companyId: parseCompanyId(event.companyId),
    }))
    return { signedAt: read.signedAt, events }
  },
  handleEvent: async (ports, companyId, event, cause) => {
    if (event.type === "numbers_news") return checkNumberStatuses(ports, companyId, cause)
    const submissionId = parseSubmissionId(event.submissionId)
    if (submissionId !== null) await checkPartStatus(ports, { companyId, submissionId }, cause)
  },
}

/** Webhooks for submissions, including the numbers of a campaign, and for toll-free numbers. */
export const registrationWebhooks = [
  webhook<RegistryEvent>({
    provider: "telnyxRegistration",
    url: "/carriers/telnyx/registration/:submissionId/:companyId/:mac",
    ...webhookHandlers,
  }),
  webhook<RegistryEvent>({
    provider: "telnyxRegisteredNumbers",
    url: "/carriers/telnyx/registered-numbers/:companyId/:mac",
    ...webhookHandlers,
  }),
]
