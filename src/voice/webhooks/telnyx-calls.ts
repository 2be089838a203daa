/** `POST /carriers/telnyx/calls`: what Telnyx says of calls. */
import { providerResultOrNull } from "../../../adapters/providers/provider-errors.ts"
import type { VoiceEvent } from "../../../adapters/providers/voice/port.ts"
import type { CompanyId } from "../../../domain/kernel/ids.ts"
import { headerValue } from "../../frame/routes/api-call.ts"
import { webhook } from "../../frame/routes/declare/webhook.ts"
import type { Ports } from "../../frame/ports.ts"
import { readCall } from "../call-stream.ts"
import { findCurrentNumberHolder, receiveCallEvent } from "../receive-call-event.ts"

/** Telnyx waits two seconds for an answer. */
const DECLINE_TIMEOUT_MS = 1_000

/** Takes in what Telnyx says, once it is known that Telnyx says it. */
export const telnyxCallWebhook = webhook<VoiceEvent>({
  provider: "telnyxCalls",
  url: "/carriers/telnyx/calls",
  verify: async (ports, raw, sent) => {
    const header = (name: string) => headerValue(sent, name)
    const read = ports.voiceWebhooks?.readWebhook({ header, raw }, ports.clock.now()) ?? null
    if (read === null) return null
    const events = await Promise.all(
      read.events.map(async (told) => ({
        ...told,
        companyId: await findCompanyOfEvent(ports, told.event),
      })),
    )
    return { signedAt: read.signedAt, events }
  },
  handleEvent: async (ports, _companyId, event, cause) => {
    await receiveCallEvent(ports, event, cause)
  },
  handleUnownedEvent: async ({ voiceWebhooks, pacer }, event) => {
    if (event.type !== "call_came" || voiceWebhooks === null) return
    // Where Telnyx does not answer, the caller's network gives up by itself.
    await providerResultOrNull(
      pacer,
      "Telnyx",
      voiceWebhooks.rejectCall(event.ref),
      DECLINE_TIMEOUT_MS,
    )
  },
})

/** Whose call it is; null where nobody here holds the number, by everything that is stored. */
async function findCompanyOfEvent(
  ports: Pick<Ports, "projector" | "readAll" | "runner" | "store">,
  event: VoiceEvent,
): Promise<CompanyId | null> {
  if (event.type === "call_came")
    return (await findCurrentNumberHolder(ports, event.to))?.companyId ?? null
  const { leg } = event
  // What went along with a leg of another installation by the same account is nobody's here.
  if (leg.kind === "leg") return (await readCall(ports, leg)) === null ? null : leg.companyId
  return (await findCurrentNumberHolder(ports, leg.to))?.companyId ?? null
}
