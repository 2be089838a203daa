import { z } from "zod"
import { parseCallId } from "../../../domain/kernel/calls.ts"
import type { OfferedCall } from "../../../domain/voice/call-state.ts"
import { isLegActive } from "../../../domain/voice/call-state.ts"
import { findCallRow, listCalls } from "../../../projections/voice/calls.ts"
import {
  companyInput,
  timeInput,
  findCompany,
  listLimitInput,
  renderList,
  waitForOwnWrites,
} from "../../frame/operator/inputs.ts"
import type { AdminOperation, AdminPorts } from "../../frame/operator/operation.ts"
import { operation, OperatorRefused } from "../../frame/operator/operation.ts"
import { voiceLeg } from "../carrier-commands.ts"
import type { CallReference } from "../call-stream.ts"
import { readCall } from "../call-stream.ts"
import type { VoiceLeg } from "../../../adapters/providers/voice/port.ts"
import { callMinutesOf } from "../../../domain/voice/call-minutes.ts"
import type { Ports } from "../../frame/ports.ts"

const legState = (
  { phase, acceptedLeg }: Pick<OfferedCall, "phase" | "acceptedLeg">,
  { leg, answeredAt, askedUntil, isDropped, goneAt }: OfferedCall["legs"][number],
) => {
  if (isDropped || goneAt !== null) return "gone"
  if (leg === acceptedLeg) return phase === "talking" ? "talking" : "accepted"
  return answeredAt === null ? "ringing" : askedUntil === null ? "open" : "asked"
}

const callId = z.string().meta({ description: "the call, by id", argument: "CALL_ID" })
const leg = (defaultLeg: string) =>
  z
    .int()
    .min(0)
    .max(5)
    .optional()
    .meta({ description: `the phone, 0 for the caller's; default: ${defaultLeg}`, takes: "leg" })

/** Finds a call by the id that an operator typed. @throws OperatorRefused if it does not exist */
async function findCallById(
  ports: Pick<AdminPorts, "projector" | "readAll" | "runner" | "store">,
  named: string,
): Promise<{ readonly reference: CallReference; readonly call: OfferedCall }> {
  await waitForOwnWrites(ports)
  const id = parseCallId(named)
  const row = id === null ? null : await findCallRow(ports.readAll, id)
  const reference = row === null ? null : { companyId: row.company_id, callId: row.call_id }
  const call = reference === null ? null : await readCall(ports, reference)
  if (reference !== null && call !== null) return { reference, call }
  throw callNotFound(named)
}

function callNotFound(id: string): OperatorRefused {
  const message = `There is no call ${id}. List them with "call list --company COMPANY".`
  return new OperatorRefused("not_found", message)
}

type SimulatedAction = Parameters<AdminPorts["simulatedVoice"]["performAction"]>[1]

/** Simulates an action on legs of a call. @throws OperatorRefused if it is impossible on all of them */
async function performAction(
  ports: Pick<AdminPorts, "projector" | "runner" | "simulatedVoice" | "store">,
  { reference, call }: Awaited<ReturnType<typeof findCallById>>,
  legs: readonly number[],
  action: SimulatedAction,
) {
  const carrier = await requireSimulatedCall(ports, voiceLeg(reference.companyId, call, 0))
  let isPerformed = false
  for (const one of legs) {
    isPerformed =
      (await carrier.performAction(voiceLeg(reference.companyId, call, one), action)) || isPerformed
  }
  if (!isPerformed) {
    const shown = await describeCall(ports, reference)
    const states = shown.legs.map((one) => `leg ${one.leg} is ${one.state}`)
    const named = states.length === 0 ? "no phone was called" : states.join(", ")
    const message = `This action is not possible now: the call is ${shown.phase}, and ${named}.`
    throw new OperatorRefused("conflict", message, { ...shown })
  }
  await waitForOwnWrites(ports)
  return describeCall(ports, reference)
}

/** The first active leg that satisfies a condition, as a list. */
const firstLegWhere = (
  call: OfferedCall,
  condition: (one: OfferedCall["legs"][number]) => boolean,
): readonly number[] =>
  call.legs
    .filter((one) => isLegActive(one) && condition(one))
    .slice(0, 1)
    .map((one) => one.leg)

const answer = operation({
  name: "call answer",
  summary: "answer a ringing phone of a simulated call",
  example: "call answer call_4Zb0x7 --leg 1",
  changes: true,
  input: z.object({ callId, leg: leg("the first that rings") }),
  run: async ({ ports }, { callId: named, leg: given }) => {
    const found = await findCallById(ports, named)
    const rings = firstLegWhere(found.call, ({ answeredAt }) => answeredAt === null)
    return performAction(ports, found, given === undefined ? rings : [given], { action: "answer" })
  },
})

const press = operation({
  name: "call press",
  summary: "press keys on a phone of a simulated call",
  notes: ["1 accepts the call if the number screens calls."],
  example: "call press call_4Zb0x7 1",
  changes: true,
  input: z.object({
    callId,
    digits: z
      .string()
      .regex(/^[0-9*#]{1,8}$/, "must be 1 to 8 of 0 to 9, * and #")
      .meta({ description: "the keys", argument: "DIGIT" }),
    leg: leg("the first that was asked"),
  }),
  run: async ({ ports }, { callId: named, digits, leg: given }) => {
    const found = await findCallById(ports, named)
    const asked = firstLegWhere(found.call, ({ askedUntil }) => askedUntil !== null)
    return performAction(ports, found, given === undefined ? asked : [given], {
      action: "press",
      digits,
    })
  },
})

const hangUp = operation({
  name: "call hang-up",
  summary: "hang up a phone of a simulated call",
  example: "call hang-up call_4Zb0x7 --leg 1",
  changes: true,
  input: z.object({ callId, leg: leg("the caller's") }),
  run: async ({ ports }, { callId: named, leg: given = 0 }) =>
    performAction(ports, await findCallById(ports, named), [given], { action: "hang_up" }),
})

const say = operation({
  name: "call say",
  summary: "finish the announcement on a simulated call",
  notes: ["The announcement is the recording notice or the voicemail greeting."],
  example: "call say call_4Zb0x7",
  changes: true,
  input: z.object({ callId }),
  run: async ({ ports }, { callId: named }) => {
    const found = await findCallById(ports, named)
    const legs = [0, ...found.call.legs.filter(isLegActive).map((one) => one.leg)]
    return performAction(ports, found, legs, { action: "hear" })
  },
})

const list = operation({
  name: "call list",
  summary: "list a company's calls, newest last",
  notes: ["Times are UTC. If there are more than the limit, the newest are shown."],
  example: "call list --company acme --since 2026-11-25T12:00:00Z",
  input: z.object({
    company: companyInput,
    since: timeInput.optional().meta({ description: "only those after this time" }),
    before: timeInput.optional().meta({ description: "only those before this time" }),
    limit: listLimitInput,
  }),
  run: async ({ ports }, { company: named, since, before, limit }) => {
    const companyId = await findCompany(ports, named)
    await waitForOwnWrites(ports)
    const rows = await listCalls(ports.readAll, {
      companyId,
      since: since === undefined ? null : new Date(since),
      before: before === undefined ? null : new Date(before),
      // One extra row tells whether more exist.
      limit: limit + 1,
    })
    const calls = rows.slice(-limit).map((row) => ({
      at: row.created_at.toISOString(),
      callId: row.call_id,
      from: row.from_number,
      to: row.to_number,
      forwardedTo: row.forwarded_to,
      status: row.status,
      outcome: row.outcome,
      seconds: row.seconds,
      recorded: row.recorded,
      voicemailSeconds: row.voicemail_seconds,
      chargedMicros: row.charged_micros,
    }))
    return { calls, next: rows.length > limit ? (calls[0]?.at ?? null) : null }
  },
  render: ({ calls, next }, page) => renderList(calls, next, page, "calls"),
})

export const phoneCallOperations: readonly AdminOperation[] = [list, answer, press, hangUp, say]

/** The carrier simulator, if it has the call. @throws OperatorRefused if a real carrier has it */
async function requireSimulatedCall(
  { simulatedVoice }: Pick<Ports, "simulatedVoice">,
  caller: VoiceLeg,
) {
  if (await simulatedVoice.isSimulatedLeg(caller)) return simulatedVoice
  throw new OperatorRefused("conflict", "A real carrier has this call, so it cannot be simulated.")
}

/** Describes a call. @throws OperatorRefused if it does not exist */
export async function describeCall(ports: Pick<Ports, "runner">, reference: CallReference) {
  const call = await readCall(ports, reference)
  if (call === null) throw callNotFound(reference.callId)
  const { phase, outcome, reason, acceptedLeg, legs } = call
  return {
    ...reference,
    phase,
    outcome,
    reason,
    acceptedLeg,
    minutesPaid: callMinutesOf(call).paid,
    attestation: call.offered.attestation,
    legs: legs.map((one) => ({ leg: one.leg, state: legState(call, one) })),
  }
}
