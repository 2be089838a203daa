/**
 * `kill -9` at each line of a call, in a real process: whoever comes next ends the call, keeps the minutes that
 * were spoken by the carrier's times and no others, and frees the slot.
 */
import { callSlotsOf } from "../../domain/voice/aggregates.ts"
import { spokenMinutes } from "../../domain/voice/call-minutes.ts"
import { callsWithSlot } from "../../domain/voice/call-slots.ts"
import type { CallId } from "../../domain/voice/ids.ts"
import { afterAll, beforeAll, expect, it } from "vitest"
import { isDeep } from "../charging/runs.ts"
import type { TestDatabase } from "../support/postgres.ts"
import { testDatabase } from "../support/postgres.ts"
import type { Place } from "../support/server-process.ts"
import { makePlace } from "../support/server-process.ts"
import type { World } from "../support/world.ts"
import type { Called } from "./voice-world.ts"
import {
  MINUTE,
  PHONES,
  advance,
  callIn,
  callOf,
  does,
  listed,
  makeCalled,
  minutesOfBill,
  newCaller,
  openVoiceWorld,
  spentOf,
} from "./voice-world.ts"

/** The lines, in their order: taken in, paid, rung, taken, talked in, paid on, and over. */
const ALL = [
  "append.after:CallSlotTaken=1",
  "append.after:CallOffered=1",
  "append.after:Charged=1",
  "append.after:CallMinutePaid=1",
  "provider.before=1",
  "provider.after=1",
  "append.after:LegAnswered=1",
  "append.after:CallAccepted=1",
  "provider.after=4",
  "append.after:CallerAnswered=1",
  "append.after:CallJoined=1",
  "append.before:CallerGone=1",
  "append.after:CallMinuteBegun=2",
  "append.after:Charged=2",
  "append.after:CallerGone=1",
  "append.before:ChargesClosed=1",
  "append.after:ChargesClosed=1",
  "append.after:Charged=3",
] as const
/** Every third one where there is little time: `LEDGER_DEEP=1` dies at all. */
const LINES = isDeep ? ALL : ALL.filter((_, i) => i % 3 === 0)

let database: TestDatabase
let world: World
const companies: Called[] = []
const places: Place[] = []

beforeAll(async () => {
  database = await testDatabase()
  world = await openVoiceWorld({ url: database.url })
  const set = { phones: PHONES.slice(0, 2), screenCalls: true }
  while (companies.length < LINES.length) companies.push(await makeCalled(world, set))
}, 120_000)
afterAll(async () => {
  for (const place of places) await place.clear()
  await world.close()
  await database.drop()
})

/** Plays a call at a server that dies of it. */
async function dieAt(line: string, { to }: Called): Promise<void> {
  const place = await makePlace({
    DATABASE_URL: database.url,
    LEDGER_CLOCK: "test",
    NODE_ENV: "test",
    BOX_HOST: "simulator",
    LEDGER_FAILPOINTS: line,
  })
  places.push(place)
  const server = await place.start()
  const call = ["--from", newCaller(), "--to", to, "--outcome", "answered", "--seconds", "130.5"]
  const played = place.attempt("carrier", "call-in", ...call)
  expect(await server.ended, line).toBeNull()
  await played
}

/** Ends what is left of a company's call; how it stands then. */
async function end(company: Called) {
  await advance(world, "3m")
  const [row] = await listed(world, company)
  const callId = (row?.["id"] ?? null) as CallId | null
  // The caller has gone, but where that was never said the script is not played on.
  const call = callId === null ? null : await callOf(world, company, callId)
  if (callId !== null && call?.endedAt === null) await does(world, "hang-up", callId)
  await advance(world, "17m")
  return callId === null ? null : callOf(world, company, callId)
}

it("a call dies at every line, and costs what was spoken", async () => {
  for (const [i, line] of LINES.entries()) {
    const company = companies[i] as Called
    // While a server is tried nobody else may do its work.
    await world.close()
    await dieAt(line, company)
    world = await openVoiceWorld({ url: database.url })
    const call = await end(company)
    const minutes = call === null ? 0 : spokenMinutes(call)
    expect([line, call?.phase ?? "ended"]).toEqual([line, "ended"])
    expect(await spentOf(world, company), line).toBe(minutes * MINUTE)
    const bill = await minutesOfBill(world, company)
    expect(bill.filter(({ state }) => state === "open")).toEqual([])
    const slots = callSlotsOf(company.companyId)
    expect(await world.ports.runner.readLatest(slots, callsWithSlot), line).toEqual([])
    // Nothing of it is in the way of the next one.
    const next = await callIn(world, company)
    expect(await callOf(world, company, next)).toMatchObject({ phase: "ringing" })
    await does(world, "hang-up", next)
  }
  expect((await world.operate("audit verify")).ok).toBe(true)
}, 300_000)
