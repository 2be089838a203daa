/** What is called back in Telnyx's name, and what Telnyx signs that is not for us. */
import { beforeEach, describe, expect, it, vi } from "vitest"
import { Unavailable } from "../../adapters/eventstore/port.ts"
import { signingAccount } from "../support/telnyx-signing.ts"
import { CALLED_BACK, openTelnyxWorld } from "./telnyx-world.ts"
import type { Called } from "./voice-world.ts"
import { PHONES, listed, makeCalled, newCaller, openVoiceWorld } from "./voice-world.ts"
import { advance } from "../support/world.ts"

const telnyx = await openTelnyxWorld()
let company: Called
beforeEach(async () => {
  telnyx.waiting.length = 0
  company = await makeCalled(telnyx.world, { phones: PHONES.slice(0, 1) })
})

const head = async () => (await telnyx.world.ports.store.head()).commit

/** A call came, and is not told yet. */
function came(to = company.to): string {
  telnyx.standIn.callIn(newCaller(), to)
  return telnyx.waiting.pop()?.raw ?? ""
}

/** Nothing is recorded of what this sends; the statuses of the answers. */
async function nothingOf(send: () => Promise<readonly number[]>): Promise<readonly number[]> {
  await telnyx.world.operate("wait")
  const before = await head()
  const statuses = await send()
  await telnyx.world.operate("wait")
  expect(await head()).toBe(before)
  return statuses
}

const now = () => telnyx.world.ports.clock.now()

describe("what Telnyx did not sign", () => {
  const forged: readonly (readonly [string, (raw: string) => Record<string, string>])[] = [
    ["has no signature", () => ({ "content-type": "application/json" })],
    ["has a wrong one", (raw) => telnyx.account.headersOf(`${raw} `, now())],
    ["is another account's", (raw) => signingAccount().headersOf(raw, now())],
    ["is 301 seconds old", (raw) => telnyx.account.headersOf(raw, now() - 301_000)],
    ["is of in 301 seconds", (raw) => telnyx.account.headersOf(raw, now() + 301_000)],
  ]
  it.each(forged)("is no fact: it %s", async (_what, headersOf) => {
    const raw = came()
    const statuses = await nothingOf(async () => [await telnyx.send({ raw }, headersOf(raw))])
    expect(statuses).toEqual([401])
  })

  it("was changed by one byte, is no fact, and stands in no log", async () => {
    const raw = came()
    const headers = telnyx.account.headersOf(raw, now())
    const info = vi.spyOn(telnyx.world.ports.log, "info")
    const changed = { raw: raw.replace('"incoming"', '"incominh"') }
    expect(await nothingOf(async () => [await telnyx.send(changed, headers)])).toEqual([401])
    const logged = JSON.stringify([info.mock.calls, telnyx.world.warnings])
    expect(logged).not.toContain(company.to)
    info.mockRestore()
  })

  it("has two megabytes, and is not read", async () => {
    const raw = JSON.stringify({ data: "x".repeat(2 * 1024 * 1024) })
    const statuses = await nothingOf(async () => [await telnyx.send({ raw })])
    expect(statuses).toEqual([413])
  })
})

describe("what Telnyx signed", () => {
  it("is one call, however often it comes at once and later", async () => {
    const raw = came()
    const statuses = await Promise.all(Array.from({ length: 50 }, () => telnyx.send({ raw })))
    expect(statuses).toContain(200)
    expect(statuses.every((status) => status === 200 || status === 503)).toBe(true)
    await telnyx.goOn()
    expect(await listed(telnyx.world, company)).toHaveLength(1)
    await nothingOf(async () => [await telnyx.send({ raw })])
    await advance(telnyx.world, "192h")
    expect(await nothingOf(async () => [await telnyx.send({ raw })])).toEqual([200])
  })

  it("by which nobody here is called is turned away and counted", async () => {
    const raw = came("+12015550199")
    const before = telnyx.standIn.asked.length
    expect(await nothingOf(async () => [await telnyx.send({ raw })])).toEqual([200])
    expect(telnyx.standIn.asked.slice(before)).toMatchObject([{ body: { cause: "CALL_REJECTED" } }])
    const { payload } = await telnyx.world.app.inject({ method: "GET", url: "/metrics" })
    expect(payload).toMatch(/ledger_webhook_events_total.*telnyxCalls.*nobody.* 1/)
  })

  it("of a call goes by the number that was called, whoever else is named", async () => {
    const other = await makeCalled(telnyx.world, { phones: PHONES.slice(1, 2) })
    const { data } = JSON.parse(came(other.to))
    const mark = `${company.companyId}:call_x:0:`
    data.payload.client_state = Buffer.from(mark).toString("base64")
    expect(await telnyx.send({ raw: JSON.stringify({ data }) })).toBe(200)
    await telnyx.goOn()
    expect(await listed(telnyx.world, company)).toEqual([])
    expect(await listed(telnyx.world, other)).toHaveLength(1)
  })

  it("of a leg that another installation had called is nobody's", async () => {
    const { data } = JSON.parse(came())
    for (const type of ["call.answered", "call.hangup", "call.speak.ended", "call.initiated"]) {
      const state = Buffer.from(`${company.companyId}:call_elsewhere:0:say`).toString("base64")
      const payload = { ...data.payload, client_state: state, direction: "outgoing" }
      const raw = JSON.stringify({ data: { ...data, id: type, event_type: type, payload } })
      expect(await nothingOf(async () => [await telnyx.send({ raw })])).toEqual([200])
    }
  })

  it.each([
    ["no JSON", "{"],
    ["no event", "[]"],
    ["no time", '{"data":{"id":"1","event_type":"call.hangup","payload":{}}}'],
    ["nothing that a call uses", '{"data":{"id":"1","event_type":"call.playback.started"}}'],
  ])("that is %s is taken and means nothing", async (_what, raw) => {
    expect(await nothingOf(async () => [await telnyx.send({ raw })])).toEqual([200])
  })

  it("with a name twice is read once, by its last", async () => {
    const raw = came()
    const doubled = raw.replace('"event_type":', '"event_type":"call.hangup","event_type":')
    expect(await telnyx.send({ raw: doubled })).toBe(200)
    await telnyx.goOn()
    expect(await listed(telnyx.world, company)).toMatchObject([{ status: "ringing" }])
  })

  it("and could not be stored is answered so that it comes again", async () => {
    const raw = came()
    const failing = vi.spyOn(telnyx.world.ports.store, "append")
    failing.mockRejectedValue(new Unavailable("the store is away"))
    expect(await telnyx.send({ raw })).toBe(503)
    failing.mockRestore()
    expect(await telnyx.send({ raw })).toBe(200)
    await telnyx.goOn()
    expect(await listed(telnyx.world, company)).toHaveLength(1)
  })
})

it("an installation without Telnyx takes nothing at its address", async () => {
  const world = await openVoiceWorld()
  const raw = came()
  const headers = telnyx.account.headersOf(raw, world.ports.clock.now())
  const answer = await world.app.inject({ method: "POST", url: CALLED_BACK, headers, payload: raw })
  await world.close()
  expect(answer.statusCode).toBe(401)
})
