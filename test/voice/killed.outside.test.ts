/**
 * `kill -9` at lines of a call, in a real process: the next process ends the call, keeps the minutes that were
 * spoken by the carrier's times and no others, and frees the slot.
 */
import { callSlotsOf } from "../../domain/voice/aggregates.ts"
import { spokenMinutes } from "../../domain/voice/call-minutes.ts"
import { holdersOf } from "../../domain/kernel/slots.ts"
import type { CallId } from "../../domain/voice/ids.ts"
import { expect, it } from "vitest"
import { linesToTry, openTurns } from "../support/killed.ts"
import type { World } from "../support/world.ts"
import { advance, makeCallsFree, spentOf } from "../support/world.ts"
import type { Called } from "./voice-world.ts"
import {
  MINUTE,
  PHONES,
  callIn,
  callOf,
  does,
  listed,
  makeCalled,
  minutesOfBill,
  newCaller,
} from "./voice-world.ts"

const LINES = linesToTry(
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

const turns = await openTurns()
await makeCallsFree(turns.world())

/** Ends what is left of a company's call; how it stands then. */
async function end(world: World, company: Called) {
  await advance(world, "3m")
  const [row] = await listed(world, company)
  const callId = (row?.["id"] ?? null) as CallId | null
  // The caller has gone, but where that was never said the script is not played on.
  const call = callId === null ? null : await callOf(world, company, callId)
  if (callId !== null && call?.endedAt === null) await does(world, "hang-up", callId)
  await advance(world, "17m")
  return callId === null ? null : callOf(world, company, callId)
}

it.each(LINES)("a call whose process dies at %s costs what was spoken", async (line) => {
  const set = { phones: PHONES.slice(0, 2), screenCalls: true }
  const company = await makeCalled(turns.world(), set)
  const world = await turns.dieAt(line, async (server, place) => {
    const call = ["--from", newCaller(), "--to", company.to, "--outcome", "answered"]
    const played = place.attempt("carrier", "call-in", ...call, "--seconds", "130.5")
    await server.ended
    await played
  })
  const call = await end(world, company)
  const minutes = call === null ? 0 : spokenMinutes(call)
  expect(call?.phase ?? "ended").toBe("ended")
  expect(await spentOf(world, company)).toBe(minutes * MINUTE)
  const bill = await minutesOfBill(world, company)
  expect(bill.filter(({ state }) => state === "open")).toEqual([])
  const slots = callSlotsOf(company.companyId)
  expect(await world.ports.runner.readLatest(slots, holdersOf)).toEqual([])
  // Nothing of it is in the way of the next one.
  const next = await callIn(world, company)
  expect(await callOf(world, company, next)).toMatchObject({ phase: "ringing" })
  await does(world, "hang-up", next)
})

it("everything holds after all deaths", async () => {
  expect((await turns.world().operate("audit verify")).ok).toBe(true)
})
