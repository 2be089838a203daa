/** A call that the built-in carrier has: one that waits for what an operator says, or a whole one. */
import { z } from "zod"
import type { CompanyId } from "../../../domain/kernel/ids.ts"
import { phoneStreamOf } from "../../../domain/phone/aggregates.ts"
import type { NumberId } from "../../../domain/phone/ids.ts"
import { findNumber } from "../../../domain/phone/phone-views.ts"
import { CALL_OUTCOMES } from "../../../domain/voice/call-events.ts"
import { MAX_TALK_MS } from "../../../domain/voice/call-commands.ts"
import { newId } from "../../frame/kernel/ids.ts"
import { parseFullNumber } from "../../frame/kernel/schema.ts"
import {
  companyInput,
  findCompany,
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

/** A whole call takes as long as its rows do. */
const SIMULATION_TIMEOUT_MS = 20_000
const POLL_INTERVAL_MS = 20
const DEFAULT_SECONDS = 30

const seconds = z
  .string()
  .regex(/^\d{1,5}(\.\d{1,3})?$/, "must be seconds such as 60 or 60.001")
  .refine((text) => Number(text) * 1_000 <= MAX_TALK_MS, "must be 14400 at most, four hours")

const CallIn = z.object({
  company: companyInput.optional(),
  from: textInput.meta({ description: "who calls, or what is shown of them", takes: "number" }),
  to: z.string().meta({ description: "the company's number", takes: "number" }),
  outcome: z
    .enum(CALL_OUTCOMES)
    .optional()
    .meta({ description: "plays the whole call; without it the call waits" }),
  seconds: seconds.optional().meta({
    description: `how long it lasted once answered; default ${DEFAULT_SECONDS}`,
  }),
  recorded: z.boolean().optional().meta({ description: "what was said in it is recorded" }),
  voicemailSeconds: z
    .int()
    .min(0)
    .max(180)
    .optional()
    .meta({ description: "how long the voicemail is; default all of the call", takes: "seconds" }),
})

type CallIn = z.infer<typeof CallIn>

/** Why options do not stand together; null where they do. */
function optionsFault({
  outcome,
  seconds: lasts,
  recorded,
  voicemailSeconds,
}: CallIn): string | null {
  if (outcome === undefined) {
    const given = [lasts, recorded, voicemailSeconds].some((one) => one !== undefined)
    return given ? "--seconds, --recorded and --voicemail-seconds are for --outcome" : null
  }
  if (recorded === true && outcome !== "answered") return "--recorded is for --outcome answered"
  const isVoicemail = outcome === "voicemail" || voicemailSeconds === undefined
  return isVoicemail ? null : "--voicemail-seconds is for --outcome voicemail"
}

const callIn = operation({
  name: "carrier call-in",
  summary: "let the built-in carrier have a call",
  notes: [
    "Without --outcome the call waits: call answer, press, say and hang-up say what happens to it.",
    "A call that is played ended just now, and began as long before as it lasted.",
    "--from may be anything that a caller can show, such as anonymous.",
  ],
  example:
    "carrier call-in --company acme --from +14155550123 --to +12015550100 --outcome voicemail --seconds 40",
  changes: true,
  input: withCrossFieldCheck(CallIn, optionsFault),
  run: async ({ ports }, input) => {
    const to = parseFullNumber(input.to)
    if (to === null) throw new OperatorRefused("bad_number", "Give --to as a full phone number.")
    await waitForOwnWrites(ports)
    const holder = await findCurrentNumberHolder(ports, to)
    if (holder === null) {
      throw new OperatorRefused("not_found", `No company here holds the number ${to}.`)
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
    const place = { companyId, callId: callIdOf(ref) }
    if (script !== null) await waitUntilSettled(ports, place)
    await waitForOwnWrites(ports)
    return describeCall(ports, place)
  },
})

/** @throws OperatorRefused where a real carrier serves the number: nobody pays for what is pretended there */
async function assertSimulatedNumber(
  { runner, voiceWebhooks }: Pick<AdminPorts, "voiceWebhooks" | "runner">,
  companyId: CompanyId,
  numberId: NumberId,
): Promise<void> {
  if (voiceWebhooks === null) return
  const number = await runner.read(phoneStreamOf(companyId), (state) => findNumber(state, numberId))
  if (number?.test === true) return
  throw new OperatorRefused("conflict", "A real carrier serves this number: call it.")
}

/** @throws OperatorRefused where the number's settings let no such call happen */
function assertCallPossible(
  { outcome, recorded }: CallIn,
  { ringTo, voicemail, recordCalls }: Awaited<ReturnType<typeof readCallSettings>>,
): void {
  const refuse = (message: string) => new OperatorRefused("conflict", message)
  if (outcome === "answered" && ringTo.length === 0) throw refuse("The number rings nobody.")
  if (outcome === "voicemail" && !voicemail) throw refuse("The number has no voicemail.")
  if (recorded === true && !recordCalls) throw refuse("Calls to the number are not recorded.")
}

function scriptOf({ outcome, seconds: lasts, recorded, voicemailSeconds }: CallIn) {
  if (outcome === undefined) return null
  const lastsMs = Math.round(Number(lasts ?? DEFAULT_SECONDS) * 1_000)
  const all = Math.min(180, Math.floor(lastsMs / 1_000))
  return {
    outcome,
    lastsMs,
    recordedSeconds: recorded === true ? Math.round(lastsMs / 1_000) : null,
    voicemailSeconds: voicemailSeconds ?? all,
  }
}

/** Waits until a played call is over and paid; one that a simulator holds up goes on by itself. */
async function waitUntilSettled(
  ports: Pick<AdminPorts, "pacer" | "runner">,
  place: CallReference,
): Promise<void> {
  const until = ports.pacer.elapsedMs() + SIMULATION_TIMEOUT_MS
  while (ports.pacer.elapsedMs() < until) {
    const call = await readCall(ports, place)
    if (call === null) return
    // Of one of which nobody says when the caller went, the minutes are not known yet.
    const isOver =
      call.endedAt !== null && (call.goneAt === null || (await isCallSettled(ports, place, call)))
    if (isOver) return
    await ports.pacer.pause(POLL_INTERVAL_MS)
  }
}

/** Has the built-in carrier have calls. */
export const carrierCallOperations: readonly AdminOperation[] = [callIn]
