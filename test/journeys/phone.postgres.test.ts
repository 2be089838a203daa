/**
 * The life of a number: found, bought, set up; a call that is screened, answered, recorded and listened to;
 * another one that leaves a message; rent until the funds end, days of grace, and its end.
 */
import { expect, it } from "vitest"
import {
  buyNumberForId,
  numbersOf,
  requestNumberRelease,
  rentsOf,
  requestNumberSearch,
} from "../phone/number-orders.ts"
import { postText } from "../phone/text-requests.ts"
import { fundsMicrosOf, makeCallsFree, makeCompany, ownWorld } from "../support/world.ts"

const MINUTE = 12_000
const RENT = 1_500_000
const CALLER = "+12125550177"
const PHONES = ["+14155557001", "+14155557002"]

const world = await ownWorld("time")
await makeCallsFree(world)
await world.operate("clock set", { to: "2040-01-31T08:00:00Z" })
const company = await makeCompany(world, { funds: "3.25" })

const get = async (path: string) => (await world.call(company.key, "GET", path)).body
const later = async (duration: string) => {
  await world.operate("clock advance", { duration })
  await world.operate("wait")
}
const at = async (to: string) => {
  await world.operate("clock set", { to })
  await world.operate("wait")
}
/** Does something with a call, and lets all that follows be done. */
async function done(name: string, input: object) {
  const answer = await world.operate(name, input)
  await world.operate("wait")
  return answer
}
const callIn = (to: string) =>
  done("carrier call-in", { company: company.companyId, from: CALLER, to })
const lastCall = async () => (await get("/api/v1/phone/calls")).calls.at(-1)

/** The number that it is about. */
let id = ""
let number = ""

it("is found, bought and set up", async () => {
  const { numbers: offered } = (
    await requestNumberSearch(world, company, "?areaCode=415&contains=0123")
  ).body
  ;({ id, number } = await buyNumberForId(world, company, offered[0].number))
  expect(number).toBe("+14155550123")
  expect(await fundsMicrosOf(world, company)).toBe(3_250_000 - RENT)

  // Set up: two phones at once, who answers presses 1, and calls are recorded.
  const settings = { id, ringTo: PHONES.map((phone) => ({ phone })), recordCalls: true }
  const set = await world.call(company.key, "PATCH", "/api/v1/phone/settings", {
    body: { numbers: [{ ...settings, acknowledgeRecording: true }] },
  })
  expect(set.status).toBe(200)
})

it("takes a call that rings both phones: who presses 1 has it, recorded behind the notice", async () => {
  const first = await callIn(number)
  await done("call answer", { callId: first.callId, leg: 1 })
  await done("call answer", { callId: first.callId, leg: 2 })
  await done("call press", { callId: first.callId, digits: "1", leg: 2 })
  await done("call say", { callId: first.callId })
  await later("61s")
  await done("call hang-up", { callId: first.callId })
  await world.operate("wait")
  expect(await lastCall()).toMatchObject({
    id: first.callId,
    from: CALLER,
    to: number,
    forwardedTo: PHONES[1],
    status: "completed",
    outcome: "answered",
    recorded: true,
    chargedMicros: 2 * MINUTE,
  })

  // Listened to, in part and as a whole, and deleted for good.
  const audio = `/api/v1/phone/recordings/${first.callId}`
  const listed = await get("/api/v1/phone/recordings")
  expect(listed.recordings.map((one: { id: string }) => one.id)).toEqual([first.callId])
  const whole = await world.call(company.key, "GET", audio)
  expect([whole.status, whole.headers["content-type"]]).toEqual([200, "audio/mpeg"])
  const part = await world.call(company.key, "GET", audio, { headers: { range: "bytes=0-99" } })
  expect([part.status, part.headers["content-length"]]).toEqual([206, "100"])
  const deleted = await world.call(company.key, "DELETE", audio)
  expect(deleted.body).toEqual({ deleted: 1 })
  expect((await world.call(company.key, "GET", audio)).status).toBe(404)
})

it("takes a message where nobody takes the call", async () => {
  const second = await callIn(number)
  await later("26s")
  await done("call say", { callId: second.callId })
  await later("10s")
  await done("call hang-up", { callId: second.callId })
  await world.operate("wait")
  expect(await lastCall()).toMatchObject({
    id: second.callId,
    outcome: "voicemail",
    chargedMicros: MINUTE,
    recorded: false,
  })
  const message = `/api/v1/phone/recordings/${second.callId}?kind=voicemail`
  expect((await world.call(company.key, "GET", message)).status).toBe(200)
})

it("owes rent three times: paid, paid into a debt, and refused", async () => {
  await at("2040-02-29T08:00:00Z")
  await at("2040-03-31T08:00:00Z")
  const funds = await fundsMicrosOf(world, company)
  expect(funds).toBeLessThan(0)
  await at("2040-04-30T08:00:00Z")
  expect((await rentsOf(world, company)).map(({ name }) => name)).toEqual([
    "first",
    "2040-02",
    "2040-03",
  ])
  expect(await fundsMicrosOf(world, company)).toBe(funds)
  const held = (await numbersOf(world, company)).find((one) => one["id"] === id)
  expect(held?.["releasedUnlessPaidBy"]).toBe("2040-05-14T08:00:00.000Z")
  const text = await postText(world, company.key, { from: id })
  expect([text.status, text.body.error]).toEqual([409, "no_number"])
})

it("has days of grace, and ends; an audit comes to all of it by itself", async () => {
  await at("2040-05-14T07:59:59.999Z")
  expect((await numbersOf(world, company)).some((one) => one["id"] === id)).toBe(true)
  await at("2040-05-14T08:00:00.000Z")
  expect((await numbersOf(world, company)).some((one) => one["id"] === id)).toBe(false)
  expect((await requestNumberRelease(world, company, id)).status).toBe(404)
  expect(await world.operate("audit replay", { company: company.companyId })).toMatchObject({
    ok: true,
  })
  expect(await world.operate("audit verify", { company: company.companyId })).toMatchObject({
    ok: true,
  })
})
