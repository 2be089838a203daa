import { z } from "zod"
import type { CompanyId } from "../../../domain/kernel/ids.ts"
import { phoneStreamOf } from "../../../domain/phone/aggregates.ts"
import type { NumberId } from "../../../domain/phone/ids.ts"
import { findNumber } from "../../../domain/phone/phone-views.ts"
import { CALL_OUTCOMES } from "../../../domain/voice/call-events.ts"
import { MAX_TALK_MS } from "../../../domain/voice/call-commands.ts"
import { newId } from "../../frame/kernel/ids.ts"
import {
  companyInput,
  findCompany,
  requirePhoneNumber,
  waitForOwnWrites,
  withCrossFieldCheck,
  textInput,
} from "../../frame/operator/inputs.ts"
import type { AdminOperation, AdminPorts } from "../../frame/operator/operation.ts"
import { OperatorRefused, operation } from "../../frame/operator/operation.ts"
import { describeCall } from "./calls.ts"
import type { CallReference } from "../call-stream.ts"
import { readCall } from "../call-stream.ts"
import { readCallSettings } from "../offer-call.ts"
import { isCallSettled } from "../charge-call.ts"
import { callIdOf, findCurrentNumberHolder } from "../receive-call-event.ts"

/** A complete call takes as long as its jobs. */
const SIMULATION_TIMEOUT_MS = 20_000
const POLL_INTERVAL_MS = 20
const DEFAULT_SECONDS = 30

const seconds = z
  .string()
  .regex(/^\d{1,5}(\.\d{1,3})?$/, "must be seconds, for example 60 or 60.001")
  .refine((text) => Number(text) * 1_000 <= MAX_TALK_MS, "must be at most 14400 (four hours)")

const CallIn = z.object({
  company: companyInput.optional(),
  from: textInput.meta({
    description: "the caller's number, or the text shown in its place",
    takes: "number",
  }),
  to: z.string().meta({ description: "the company's number", takes: "number" }),
  outcome: z
    .enum(CALL_OUTCOMES)
    .optional()
    .meta({ description: "simulate the complete call; without it the call waits" }),
  seconds: seconds.optional().meta({
    description: `duration after the answer; default ${DEFAULT_SECONDS}`,
  }),
  recorded: z.boolean().optional().meta({ description: "the call is recorded" }),
  voicemailSeconds: z
    .int()
    .min(0)
    .max(180)
    .optional()
    .meta({ description: "length of the voicemail; default: the complete call", takes: "seconds" }),
})

type CallIn = z.infer<typeof CallIn>

/** Why the options do not fit together; null if they do. */
function optionsFault({
  outcome,
  seconds: duration,
  recorded,
  voicemailSeconds,
}: CallIn): string | null {
  if (outcome === undefined) {
    const given = [duration, recorded, voicemailSeconds].some((one) => one !== undefined)
    return given ? "--seconds, --recorded and --voicemail-seconds need --outcome" : null
  }
  if (recorded === true && outcome !== "answered") return "--recorded needs --outcome answered"
  const isVoicemail = outcome === "voicemail" || voicemailSeconds === undefined
  return isVoicemail ? null : "--voicemail-seconds needs --outcome voicemail"
}

const callIn = operation({
  name: "carrier call-in",
  summary: "simulate an incoming call",
  notes: [
    "Without --outcome the call waits for call answer, press, say and hang-up.",
    "A complete call ends now and began --seconds earlier.",
    "--from may be any caller ID, for example anonymous.",
  ],
  example:
    "carrier call-in --company acme --from +14155550123 --to +12015550100 --outcome voicemail --seconds 40",
  changes: true,
  input: withCrossFieldCheck(CallIn, optionsFault),
  run: async ({ ports }, input) => {
    const to = requirePhoneNumber("--to", input.to)
    await waitForOwnWrites(ports)
    const holder = await findCurrentNumberHolder(ports, to)
    if (holder === null) {
      throw new OperatorRefused("not_found", `No company holds the number ${to}.`)
    }
    const { companyId, numberId } = holder
    if (input.company !== undefined && (await findCompany(ports, input.company)) !== companyId) {
      throw new OperatorRefused("not_found", `${input.company} does not hold the number ${to}.`)
    }
    await assertSimulatedNumber(ports, companyId, numberId)
    assertCallPossible(input, await readCallSettings(ports, companyId, numberId))
    const ref = newId("leg")
    const script = scriptOf(input)
    await ports.simulatedVoice.simulateCall({
      companyId,
      ref,
      from: input.from,
      to,
      attestation: null,
      script,
    })
    const reference = { companyId, callId: callIdOf(ref) }
    if (script !== null) await waitUntilSettled(ports, reference)
    await waitForOwnWrites(ports)
    return describeCall(ports, reference)
  },
})

/** @throws OperatorRefused if a real carrier serves the number: simulated calls must not be charged there */
async function assertSimulatedNumber(
  { runner, voiceWebhooks }: Pick<AdminPorts, "voiceWebhooks" | "runner">,
  companyId: CompanyId,
  numberId: NumberId,
): Promise<void> {
  if (voiceWebhooks === null) return
  const number = await runner.read(phoneStreamOf(companyId), (state) => findNumber(state, numberId))
  if (number?.test === true) return
  throw new OperatorRefused(
    "conflict",
    "A real carrier serves this number, so calls to it cannot be simulated. Call it.",
  )
}

/** @throws OperatorRefused if the number's settings rule out such a call */
function assertCallPossible(
  { outcome, recorded }: CallIn,
  { ringTo, voicemail, recordCalls }: Awaited<ReturnType<typeof readCallSettings>>,
): void {
  const rejection = (message: string) => new OperatorRefused("conflict", message)
  if (outcome === "answered" && ringTo.length === 0)
    throw rejection("The number has no phones to ring.")
  if (outcome === "voicemail" && !voicemail) throw rejection("The number has no voicemail.")
  if (recorded === true && !recordCalls) throw rejection("Calls to the number are not recorded.")
}

function scriptOf({ outcome, seconds: duration, recorded, voicemailSeconds }: CallIn) {
  if (outcome === undefined) return null
  const lastsMs = Math.round(Number(duration ?? DEFAULT_SECONDS) * 1_000)
  const wholeSeconds = Math.min(180, Math.floor(lastsMs / 1_000))
  return {
    outcome,
    lastsMs,
    recordedSeconds: recorded === true ? Math.round(lastsMs / 1_000) : null,
    voicemailSeconds: voicemailSeconds ?? wholeSeconds,
  }
}

/** Waits until a simulated call has ended and is paid; a call that the simulator delays continues by itself. */
async function waitUntilSettled(
  ports: Pick<AdminPorts, "pacer" | "runner">,
  reference: CallReference,
): Promise<void> {
  const until = ports.pacer.elapsedMs() + SIMULATION_TIMEOUT_MS
  while (ports.pacer.elapsedMs() < until) {
    const call = await readCall(ports, reference)
    if (call === null) return
    // Until the carrier reports when the caller hung up, the minutes are unknown.
    const isOver =
      call.endedAt !== null &&
      (call.goneAt === null || (await isCallSettled(ports, reference, call)))
    if (isOver) return
    await ports.pacer.pause(POLL_INTERVAL_MS)
  }
}

export const carrierCallOperations: readonly AdminOperation[] = [callIn]
