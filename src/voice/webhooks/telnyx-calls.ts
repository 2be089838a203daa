import { providerResultOrNull } from "../../../adapters/providers/provider-errors.ts"
import type { VoiceEvent } from "../../../adapters/providers/voice/port.ts"
import type { CompanyId } from "../../../domain/kernel/ids.ts"
import { headerValue } from "../../frame/routes/api-call.ts"
import { webhook } from "../../frame/routes/declare/webhook.ts"
import type { Ports } from "../../frame/ports.ts"
import { readCall } from "../call-stream.ts"
import { findCurrentNumberHolder, receiveCallEvent } from "../receive-call-event.ts"

/** Telnyx waits 2 s for an answer to its webhook. */
const DECLINE_TIMEOUT_MS = 1_000

/** `POST /carriers/telnyx/calls`: receives signed call events. */
export const telnyxCallWebhook = webhook<VoiceEvent>({
  provider: "telnyxCalls",
  url: "/carriers/telnyx/calls",
  verify: async (ports, raw, sent) => {
    const header = (name: string) => headerValue(sent, name)
    const read = ports.voiceWebhooks?.readWebhook({ header, raw }, ports.clock.now()) ?? null
    if (read === null) return null
    const events = await Promise.all(
      read.events.map(async (received) => ({
        ...received,
        companyId: await findCompanyOfEvent(ports, received.event),
      })),
    )
    return { signedAt: read.signedAt, events }
  },
  handleEvent: async (ports, _companyId, event, cause) => {
    await receiveCallEvent(ports, event, cause)
  },
  handleUnownedEvent: async ({ voiceWebhooks, pacer }, event) => {
    if (event.type !== "call_came" || voiceWebhooks === null) return
    // Without an answer from Telnyx, the caller's network ends the call.
    await providerResultOrNull(
      pacer,
      "Telnyx",
      voiceWebhooks.rejectCall(event.ref),
      DECLINE_TIMEOUT_MS,
    )
  },
})

/** The company of an event, after the read model has caught up; null if no company holds the number. */
async function findCompanyOfEvent(
  ports: Pick<Ports, "projector" | "readAll" | "runner" | "store">,
  event: VoiceEvent,
): Promise<CompanyId | null> {
  if (event.type === "call_came")
    return (await findCurrentNumberHolder(ports, event.to))?.companyId ?? null
  const { leg } = event
  // A leg of another installation on the same Telnyx account is ignored.
  if (leg.kind === "leg") return (await readCall(ports, leg)) === null ? null : leg.companyId
  return (await findCurrentNumberHolder(ports, leg.to))?.companyId ?? null
}
