import { z } from "zod"
import {
  withProviderTimeout,
  isProviderError,
} from "../../../adapters/providers/provider-errors.ts"
import type { JobResult } from "../../../adapters/postgres/jobs/port.ts"
import type { CallEvent } from "../../../domain/voice/call-events.ts"
import { AUDIO_KINDS } from "../../../domain/kernel/calls.ts"
import type { CallInstruction } from "../../../domain/voice/call-instructions.ts"
import { callInstructionsOf } from "../../../domain/voice/call-instructions.ts"
import { parseCallId } from "../../../domain/kernel/calls.ts"
import { retryWithBackoff } from "../../frame/effects/effect-times.ts"
import type { RecordedFactOf, Job } from "../../frame/effects/reaction.ts"
import { reaction } from "../../frame/effects/reaction.ts"
import type { Cause } from "../../frame/kernel/envelope.ts"
import { causedBy } from "../../frame/kernel/envelope.ts"
import { idSchema } from "../../frame/kernel/schema.ts"
import type { Ports } from "../../frame/ports.ts"
import { voiceCommandFor, isDirectionCurrent } from "../carrier-commands.ts"
import type { CallReference } from "../call-stream.ts"
import { readCall, executeCallCommand } from "../call-stream.ts"
import { checkCallerLeg } from "../charge-call.ts"

const leg = z.int()
const says = z.enum(["screening", "notice", "greeting"])
const DirectionSchema: z.ZodType<CallInstruction> = z.union([
  z.object({ word: z.enum(["dial", "answer", "reject", "hang_up"]), leg }),
  z.object({ word: z.enum(["ask", "say"]), leg, says }),
  z.object({ word: z.literal("join"), leg, other: leg }),
  z.object({ word: z.literal("record"), leg, kind: z.enum(AUDIO_KINDS) }),
])

const Payload = z.object({
  callId: idSchema(parseCallId),
  /** Revision of the fact; part of the command ids. */
  revision: z.int(),
  directions: z.array(DirectionSchema),
})

type Payload = z.infer<typeof Payload>

/** One job for each fact. All jobs of a call share a subject, so they run in order. */
function commandJobs(
  fact: CallEvent,
  { revision, stream }: Pick<RecordedFactOf<"CallEnded">, "revision" | "stream">,
) {
  const { callId, at } = fact
  const directions = callInstructionsOf(fact)
  if (directions.length === 0) return []
  const payload = { callId, revision, directions: [...directions] }
  return [{ name: `${callId}:${revision}`, subject: stream, payload, dueAt: at }]
}

/** Sends the commands that one fact requires. */
export const sendCallCommands = reaction({
  kind: "send-call-command",
  payload: Payload,
  on: {
    LegsDialed: commandJobs,
    LegPrompted: commandJobs,
    LegHungUp: commandJobs,
    CallAccepted: commandJobs,
    RecordingNoticeStarted: commandJobs,
    CallBridged: commandJobs,
    GreetingStarted: commandJobs,
    GreetingPlayed: commandJobs,
    VoicemailStarted: commandJobs,
    CallEnded: commandJobs,
  },
  isDiscardedOnErasure: true,
  // If a command is lost, the deadline that follows it hangs up the call.
  discard: "allowed",
  perform: async (ports, work): Promise<JobResult> => {
    const cause = causedBy(`send-call-command ${work.name}`)
    try {
      for (const [i, direction] of work.payload.directions.entries()) {
        await sendDirection(ports, work, direction, i, cause)
      }
      return { result: "done" }
    } catch (error) {
      if (!isProviderError(error)) throw error
      // Repeated commands have the same ids, so sending all of them again is safe.
      return retryWithBackoff(work, "the carrier of calls does not answer")
    }
  },
})

/** Sends one command unless the call has moved on. @throws ProviderUnavailable, ProviderOutcomeUnknown */
async function sendDirection(
  ports: Pick<Ports, "clock" | "pacer" | "readAll" | "runner" | "sealing" | "voice">,
  { companyId, payload: { callId, revision } }: Job<Payload>,
  direction: CallInstruction,
  i: number,
  cause: Cause,
): Promise<void> {
  const reference: CallReference = { companyId, callId }
  const call = await readCall(ports, reference)
  const now = ports.clock.now()
  if (call === null || !isDirectionCurrent(call, direction, now)) return
  const endLeg = {
    type: "EndLeg" as const,
    callId,
    leg: direction.leg,
    goneAt: now,
    answeredAt: null,
  }
  const command = await voiceCommandFor(ports, companyId, call, direction)
  // The phone must not be called, or the number was erased.
  if (command === null) return void (await executeCallCommand(ports, reference, endLeg, cause))
  const commandId = `${callId}:${revision}:${i}`
  const sending = ports.voice.execute(command, commandId)
  const answer = await withProviderTimeout(ports.pacer, "the carrier of calls", sending)
  if (answer.outcome === "gone") {
    // The carrier knows best when the caller hung up, which decides the number of minutes.
    if (direction.leg === 0) await checkCallerLeg(ports, reference, call, cause)
    else await executeCallCommand(ports, reference, endLeg, cause)
    return
  }
  const { ref } = answer
  if (direction.word !== "dial" || ref === null) return
  await executeCallCommand(
    ports,
    reference,
    { type: "MarkLegDialed", callId, leg: direction.leg, ref },
    cause,
  )
}
