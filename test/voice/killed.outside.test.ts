/**
 * `kill -9` of a real process at steps of a call: the next process ends the call, keeps exactly the minutes that
 * were spoken by the carrier's times, and frees the slot.
 */
import { callSlotsStreamOf } from "../../domain/voice/aggregates.ts"
import { billableMinutes } from "../../domain/voice/call-minutes.ts"
import { slotHoldersOf } from "../../domain/kernel/slots.ts"
import type { CallId } from "../../domain/kernel/calls.ts"
import { expect, it } from "vitest"
import { failpointLinesToTry, openCrashTestDatabase } from "../support/failpoint-crashes.ts"
import type { World } from "../support/world.ts"
import { advance, makeCallsFree, spentMicrosOf } from "../support/world.ts"
import type { CallableCompany } from "./voice-world.ts"
import {
  CALL_MINUTE_MICROS,
  PHONES,
  startIncomingCall,
  liveCallOf,
  performCallAction,
  listCallsOf,
  makeCallableCompany,
  billedMinutesOf,
  newCaller,
} from "./voice-world.ts"

const LINES = failpointLinesToTry(
  ["append.after:Charged=1", "provider.after=1", "append.after:Charged=2"],
  [
    "append.after:SlotTaken=1",
    "append.after:CallOffered=1",
    "append.after:CallMinutePaid=1",
    "provider.before=1",
    "append.after:LegAnswered=1",
    "append.after:CallAccepted=1",
    "provider.after=4",
    "append.after:CallerAnswered=1",
    "append.after:CallBridged=1",
    "append.before:CallerHungUp=1",
    "append.after:CallMinuteStarted=2",
    "append.after:CallerHungUp=1",
    "append.before:ChargesSettled=1",
    "append.after:ChargesSettled=1",
    "append.after:Charged=3",
  ],
)

const crashes = await openCrashTestDatabase()
await makeCallsFree(crashes.world())

/** Ends the company's call, if there is one, and returns it. */
async function endCall(world: World, company: CallableCompany) {
  await advance(world, "3m")
  const [row] = await listCallsOf(world, company)
  const callId = (row?.["id"] ?? null) as CallId | null
  // If the crash lost the caller's hang-up, the script does not continue by itself.
  const call = callId === null ? null : await liveCallOf(world, company, callId)
  if (callId !== null && call?.endedAt === null) await performCallAction(world, "hang-up", callId)
  await advance(world, "17m")
  return callId === null ? null : liveCallOf(world, company, callId)
}

it.each(LINES)("a call whose process dies at %s costs the spoken minutes", async (line) => {
  const setup = { phones: PHONES.slice(0, 2), screenCalls: true }
  const company = await makeCallableCompany(crashes.world(), setup)
  const world = await crashes.crashAt(line, async (server, folder) => {
    const call = ["--from", newCaller(), "--to", company.number, "--outcome", "answered"]
    const played = folder.tryCommand("carrier", "call-in", ...call, "--seconds", "130.5")
    await server.ended
    await played
  })
  const call = await endCall(world, company)
  const minutes = call === null ? 0 : billableMinutes(call)
  expect(call?.phase ?? "ended").toBe("ended")
  expect(await spentMicrosOf(world, company)).toBe(minutes * CALL_MINUTE_MICROS)
  const bill = await billedMinutesOf(world, company)
  expect(bill.filter(({ state }) => state === "open")).toEqual([])
  const slots = callSlotsStreamOf(company.companyId)
  expect(await world.ports.runner.readLatest(slots, slotHoldersOf)).toEqual([])
  // The next call is not affected.
  const next = await startIncomingCall(world, company)
  expect(await liveCallOf(world, company, next)).toMatchObject({ phase: "ringing" })
  await performCallAction(world, "hang-up", next)
})

it("the audit passes after all crashes", async () => {
  expect((await crashes.world().operate("audit verify")).ok).toBe(true)
})
