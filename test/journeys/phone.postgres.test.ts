/**
 * The life of a phone number: search, purchase, settings, a screened and recorded call, a voicemail, rent until the
 * funds run out, the grace period and the release.
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
const advance = async (duration: string) => {
  await world.operate("clock advance", { duration })
  await world.operate("wait")
}
const setClock = async (to: string) => {
  await world.operate("clock set", { to })
  await world.operate("wait")
}
/** Runs an operation on a call, and waits until its jobs are done. */
async function operate(name: string, input: object) {
  const answer = await world.operate(name, input)
  await world.operate("wait")
  return answer
}
const callIn = (to: string) =>
  operate("carrier call-in", { company: company.companyId, from: CALLER, to })
const lastCall = async () => (await get("/api/v1/phone/calls")).calls.at(-1)

/** The number of this journey. */
let id = ""
let number = ""

it("a number is found, bought and configured", async () => {
  const { numbers: offered } = (
    await requestNumberSearch(world, company, "?areaCode=415&contains=0123")
  ).body
  ;({ id, number } = await buyNumberForId(world, company, offered[0].number))
  expect(number).toBe("+14155550123")
  expect(await fundsMicrosOf(world, company)).toBe(3_250_000 - RENT)

  // Two phones ring concurrently, the answering person presses 1, and calls are recorded.
  const settings = { id, ringTo: PHONES.map((phone) => ({ phone })), recordCalls: true }
  const set = await world.call(company.key, "PATCH", "/api/v1/phone/settings", {
    body: { numbers: [{ ...settings, acknowledgeRecording: true }] },
  })
  expect(set.status).toBe(200)
})

it("a call rings both phones, connects the one where 1 is pressed, and is recorded after the notice", async () => {
  const first = await callIn(number)
  await operate("call answer", { callId: first.callId, leg: 1 })
  await operate("call answer", { callId: first.callId, leg: 2 })
  await operate("call press", { callId: first.callId, digits: "1", leg: 2 })
  await operate("call say", { callId: first.callId })
  await advance("61s")
  await operate("call hang-up", { callId: first.callId })
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

  // The recording can be read in full or in part, and is deleted permanently.
  const audio = `/api/v1/phone/recordings/${first.callId}`
  const listed = await get("/api/v1/phone/recordings")
  expect(listed.recordings.map((one: { id: string }) => one.id)).toEqual([first.callId])
  const full = await world.call(company.key, "GET", audio)
  expect([full.status, full.headers["content-type"]]).toEqual([200, "audio/mpeg"])
  const part = await world.call(company.key, "GET", audio, { headers: { range: "bytes=0-99" } })
  expect([part.status, part.headers["content-length"]]).toEqual([206, "100"])
  const deleted = await world.call(company.key, "DELETE", audio)
  expect(deleted.body).toEqual({ deleted: 1 })
  expect((await world.call(company.key, "GET", audio)).status).toBe(404)
})

it("an unanswered call leaves a voicemail", async () => {
  const second = await callIn(number)
  await advance("26s")
  await operate("call say", { callId: second.callId })
  await advance("10s")
  await operate("call hang-up", { callId: second.callId })
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

it("rent is paid, then paid into debt, then refused", async () => {
  await setClock("2040-02-29T08:00:00Z")
  await setClock("2040-03-31T08:00:00Z")
  const funds = await fundsMicrosOf(world, company)
  expect(funds).toBeLessThan(0)
  await setClock("2040-04-30T08:00:00Z")
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

it("the number is released after the grace period, and the audit passes", async () => {
  await setClock("2040-05-14T07:59:59.999Z")
  expect((await numbersOf(world, company)).some((one) => one["id"] === id)).toBe(true)
  await setClock("2040-05-14T08:00:00.000Z")
  expect((await numbersOf(world, company)).some((one) => one["id"] === id)).toBe(false)
  expect((await requestNumberRelease(world, company, id)).status).toBe(404)
  expect(await world.operate("audit replay", { company: company.companyId })).toMatchObject({
    ok: true,
  })
  expect(await world.operate("audit verify", { company: company.companyId })).toMatchObject({
    ok: true,
  })
})
