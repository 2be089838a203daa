/** A call that the built-in carrier has: one that waits for what an operator says, or a whole one. */
import { z } from "zod"
import type { CompanyId } from "../../../domain/kernel/ids.ts"
import { phoneOf } from "../../../domain/phone/aggregates.ts"
import type { NumberId } from "../../../domain/phone/ids.ts"
import { numberOf } from "../../../domain/phone/phone-views.ts"
import { OUTCOMES } from "../../../domain/voice/call-events.ts"
import { TALK_MS } from "../../../domain/voice/call-commands.ts"
import { newId } from "../../frame/kernel/ids.ts"
import { fullNumber } from "../../frame/kernel/schema.ts"
import { company, findCompany, showWrites, together, words } from "../../frame/operator/inputs.ts"
import type { AdminOperation, AdminPorts } from "../../frame/operator/operation.ts"
import { OperatorRefused, operation } from "../../frame/operator/operation.ts"
import { callShown } from "./calls.ts"
import type { CallPlace } from "../find-call.ts"
import { readCall } from "../find-call.ts"
import { settingsOfNumber } from "../offer-call.ts"
import { isPaid } from "../pay-call.ts"
import { callIdOf, holderOf } from "../receive.ts"

/** A whole call takes as long as its rows do. */
const PLAYED_WITHIN_MS = 20_000
const LOOK_AGAIN_MS = 20
const USUAL_SECONDS = 30

const seconds = z
  .string()
  .regex(/^\d{1,5}(\.\d{1,3})?$/, "must be seconds such as 60 or 60.001")
  .refine((text) => Number(text) * 1_000 <= TALK_MS, "must be 14400 at most, four hours")

const CallIn = z.object({
  company: company.optional(),
  from: words.meta({ description: "who calls, or what is shown of them", takes: "number" }),
  to: z.string().meta({ description: "the company's number", takes: "number" }),
  outcome: z
    .enum(OUTCOMES)
    .optional()
    .meta({ description: "plays the whole call; without it the call waits" }),
  seconds: seconds.optional().meta({
    description: `how long it lasted once answered; default ${USUAL_SECONDS}`,
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
function fault({ outcome, seconds: lasts, recorded, voicemailSeconds }: CallIn): string | null {
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
  input: together(CallIn, fault),
  run: async ({ ports }, input) => {
    const to = fullNumber(input.to)
    if (to === null) throw new OperatorRefused("bad_number", "Give --to as a full phone number.")
    await showWrites(ports)
    const holder = await holderOf(ports, to)
    if (holder === null) {
      throw new OperatorRefused("not_found", `No company here holds the number ${to}.`)
    }
    const { companyId, numberId } = holder
    if (input.company !== undefined && (await findCompany(ports, input.company)) !== companyId) {
      throw new OperatorRefused("not_found", `${input.company} does not hold the number ${to}.`)
    }
    await refuseReal(ports, companyId, numberId)
    refuseUnplayable(input, await settingsOfNumber(ports, companyId, numberId))
    const ref = newId("leg")
    const script = scriptOf(input)
    await ports.simulatedVoice.callIn({
      companyId,
      ref,
      from: input.from,
      to,
      attestation: null,
      script,
    })
    const place = { companyId, callId: callIdOf(ref) }
    if (script !== null) await untilOver(ports, place)
    await showWrites(ports)
    return callShown(ports, place)
  },
})

/** @throws OperatorRefused where a real carrier serves the number: nobody pays for what is pretended there */
async function refuseReal(
  { runner, calledBack }: Pick<AdminPorts, "calledBack" | "runner">,
  companyId: CompanyId,
  numberId: NumberId,
): Promise<void> {
  if (calledBack === null) return
  const number = await runner.read(phoneOf(companyId), (state) => numberOf(state, numberId))
  if (number?.test === true) return
  throw new OperatorRefused("conflict", "A real carrier serves this number: call it.")
}

/** @throws OperatorRefused where the number's settings let no such call happen */
function refuseUnplayable(
  { outcome, recorded }: CallIn,
  { ringTo, voicemail, recordCalls }: Awaited<ReturnType<typeof settingsOfNumber>>,
): void {
  const refuse = (message: string) => new OperatorRefused("conflict", message)
  if (outcome === "answered" && ringTo.length === 0) throw refuse("The number rings nobody.")
  if (outcome === "voicemail" && !voicemail) throw refuse("The number has no voicemail.")
  if (recorded === true && !recordCalls) throw refuse("Calls to the number are not recorded.")
}

function scriptOf({ outcome, seconds: lasts, recorded, voicemailSeconds }: CallIn) {
  if (outcome === undefined) return null
  const lastsMs = Math.round(Number(lasts ?? USUAL_SECONDS) * 1_000)
  const all = Math.min(180, Math.floor(lastsMs / 1_000))
  return {
    outcome,
    lastsMs,
    recordedSeconds: recorded === true ? Math.round(lastsMs / 1_000) : null,
    voicemailSeconds: voicemailSeconds ?? all,
  }
}

/** Waits until a played call is over and paid; one that a simulator holds up goes on by itself. */
async function untilOver(
  ports: Pick<AdminPorts, "pacer" | "runner">,
  place: CallPlace,
): Promise<void> {
  const until = ports.pacer.elapsedMs() + PLAYED_WITHIN_MS
  while (ports.pacer.elapsedMs() < until) {
    const call = await readCall(ports, place)
    if (call === null) return
    // Of one of which nobody says when the caller went, the minutes are not known yet.
    const isOver =
      call.endedAt !== null && (call.goneAt === null || (await isPaid(ports, place, call)))
    if (isOver) return
    await ports.pacer.pause(LOOK_AGAIN_MS)
  }
}

/** Has the built-in carrier have calls. */
export const carrierCallOperations: readonly AdminOperation[] = [callIn]
