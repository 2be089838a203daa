/** `POST /carriers/telnyx/calls`: what Telnyx says of calls. */
import { knownInTime } from "../../../adapters/providers/outside.ts"
import type { VoiceEvent } from "../../../adapters/providers/voice/port.ts"
import type { CompanyId } from "../../../domain/kernel/ids.ts"
import { fieldOf } from "../../frame/routes/call.ts"
import { webhook } from "../../frame/routes/declare/webhook.ts"
import type { Ports } from "../../frame/ports.ts"
import { readCall } from "../find-call.ts"
import { holderOf, receiveCallEvent } from "../receive.ts"

/** Telnyx waits two seconds for an answer. */
const TURN_AWAY_WITHIN_MS = 1_000

/** Takes in what Telnyx says, once it is known that Telnyx says it. */
export const telnyxCalls = webhook<VoiceEvent>({
  provider: "telnyxCalls",
  url: "/carriers/telnyx/calls",
  verify: async (ports, raw, sent) => {
    const header = (name: string) => fieldOf(sent, name)
    const read = ports.calledBack?.read({ header, raw }, ports.clock.now()) ?? null
    if (read === null) return null
    const events = await Promise.all(
      read.events.map(async (told) => ({ ...told, companyId: await whoseIs(ports, told.event) })),
    )
    return { signedAt: read.signedAt, events }
  },
  commands: async (ports, _companyId, event, cause) => {
    await receiveCallEvent(ports, event, cause)
  },
  nobodys: async ({ calledBack, pacer }, event) => {
    if (event.is !== "call_came" || calledBack === null) return
    // Where Telnyx does not answer, the caller's network gives up by itself.
    await knownInTime(pacer, "Telnyx", calledBack.turnAway(event.ref), TURN_AWAY_WITHIN_MS)
  },
})

/** Whose call it is; null where nobody here holds the number, by everything that is stored. */
async function whoseIs(
  ports: Pick<Ports, "projector" | "readAll" | "runner" | "store">,
  event: VoiceEvent,
): Promise<CompanyId | null> {
  if (event.is === "call_came") return (await holderOf(ports, event.to))?.companyId ?? null
  const { leg } = event
  // What went along with a leg of another installation by the same account is nobody's here.
  if (leg.of === "leg") return (await readCall(ports, leg)) === null ? null : leg.companyId
  return (await holderOf(ports, leg.to))?.companyId ?? null
}
