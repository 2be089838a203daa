/** What callers and operators are shown of calls: `since`, `cursor`, and what is left once erased. */
import { describe, expect, it } from "vitest"
import { advance, makeCompany } from "../support/world.ts"
import {
  CALLS,
  PHONES,
  callIn,
  listed,
  makeCalled,
  sharedVoiceWorld,
  playCall,
} from "./voice-world.ts"

const world = await sharedVoiceWorld()
/** More calls than a page has, of callers who show no number: ten of them are taken. */
const MANY = 207
const flooded = await makeCalled(world)
for (let i = 0; i < MANY; i += 1) {
  await world.ports.simulatedVoice.callIn({
    companyId: flooded.companyId,
    ref: `list-${flooded.to}-${i}`,
    from: "",
    to: flooded.to,
    attestation: null,
    script: null,
  })
}
await world.operate("wait")

const idsOf = (calls: readonly Record<string, unknown>[]) => calls.map(({ id }) => id)

describe("GET /phone/calls", () => {
  it("gives every field of a call", async () => {
    const company = await makeCalled(world, { phones: PHONES, recordCalls: true })
    const callId = await playCall(world, company, "answered", {
      from: "+12125550100",
      seconds: "75.2",
      recorded: true,
    })
    expect(await listed(world, company)).toEqual([
      {
        id: callId,
        direction: "in",
        from: "+12125550100",
        to: company.to,
        forwardedTo: PHONES[0],
        status: "completed",
        outcome: "answered",
        seconds: 76,
        recorded: true,
        recordingSeconds: 75,
        voicemailSeconds: null,
        chargedMicros: 24_000,
        createdAt: expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/),
      },
    ])
  })

  it("walks back from the newest 200 to since, and loses none", async () => {
    const company = flooded
    const first = await world.call(company.key, "GET", CALLS)
    expect(first.body.calls).toHaveLength(200)
    const query = `?cursor=${first.body.nextCursor}`
    const second = await world.call(company.key, "GET", `${CALLS}${query}`)
    expect([second.body.calls.length, second.body.nextCursor]).toEqual([7, undefined])
    const all = [...second.body.calls, ...first.body.calls]
    const times = all.map(({ createdAt }) => createdAt as string)
    expect(times).toEqual([...new Set(times)].toSorted())
    const since = `?since=${times[3]}`
    expect(idsOf(await listed(world, company, since))).toEqual(idsOf(all).slice(-200))
    const rest = await world.call(
      company.key,
      "GET",
      `${CALLS}${since}&cursor=${first.body.nextCursor}`,
    )
    expect(idsOf(rest.body.calls)).toEqual(idsOf(all).slice(4, 7))
  })

  it("shows no other company's calls, takes no cursor of another list or company, and is empty at first", async () => {
    const [one, other] = [flooded, await makeCompany(world)]
    expect(await listed(world, other)).toEqual([])
    const { nextCursor } = (await world.call(one.key, "GET", CALLS)).body
    const lists = [[other.key, CALLS] as const, [one.key, "/api/v1/phone/messages"] as const]
    for (const [key, url] of lists) {
      const { status, body } = await world.call(key, "GET", `${url}?cursor=${nextCursor}`)
      expect([status, Object.keys(body.fields)]).toEqual([400, ["cursor"]])
    }
    expect((await world.call(one.key, "GET", `${CALLS}?since=yesterday`)).status).toBe(400)
  })

  it("shows no numbers of a company that was erased, and its seconds and cost stay", async () => {
    const company = await makeCalled(world, { phones: PHONES })
    await playCall(world, company, "answered", { seconds: "61" })
    await world.operate("company delete", { company: company.companyId, yes: true })
    await advance(world, "15d")
    const { calls } = await world.operate("call list", { company: company.companyId })
    expect(calls).toMatchObject([
      { from: null, to: null, forwardedTo: null, seconds: 61, chargedMicros: 24_000 },
    ])
    // The number is nobody's.
    await expect(callIn(world, company)).rejects.toThrow(/No company here holds/)
  })
})

describe("an operator", () => {
  it("lists a company's calls, the newest last, and goes on before", async () => {
    const company = await makeCalled(world)
    const callIds = [
      await playCall(world, company, "voicemail"),
      await playCall(world, company, "missed"),
    ]
    const ask = (others: object) =>
      world.operate("call list", { company: company.companyId, ...others })
    const { calls, next } = await ask({ limit: 1 })
    expect([calls, next]).toMatchObject([[{ callId: callIds[1], outcome: "missed" }], calls[0].at])
    expect(await ask({ before: next })).toMatchObject({
      calls: [{ callId: callIds[0] }],
      next: null,
    })
    expect(await ask({ since: calls[0].at })).toEqual({ calls: [], next: null })
  })

  it.each([
    [{ outcome: "answered" }, /rings nobody/],
    [{ outcome: "answered", recorded: true }, /rings nobody/],
    [{ to: "+13035550100" }, /No company here holds/],
    [{ to: "5550100" }, /full phone number/],
  ])("is told what cannot be: %j", async (input, message) => {
    const company = await makeCalled(world)
    const given = { from: "+12125550100", to: company.to, ...input }
    await expect(world.operate("carrier call-in", given)).rejects.toThrow(message)
  })

  it.each([
    [{ seconds: "5" }],
    [{ outcome: "missed", recorded: true }],
    [{ outcome: "answered", voicemailSeconds: 3 }],
    [{ outcome: "answered", seconds: "14401" }],
    [{ outcome: "answered", seconds: "-1" }],
  ])("cannot ask for %j", async (input) => {
    const given = { from: "+12125550100", to: "+12015550100", ...input }
    await expect(world.operate("carrier call-in", given)).rejects.toThrow(/seconds|recorded/)
  })

  it("is told where nobody can do what they say, and which call is none", async () => {
    const company = await makeCalled(world, { phones: PHONES.slice(0, 1) })
    const callId = await callIn(world, company)
    await expect(world.operate("call press", { callId, digits: "1" })).rejects.toThrow(/Nobody can/)
    await expect(world.operate("call answer", { callId, leg: 4 })).rejects.toThrow(/Nobody can/)
    await expect(world.operate("call say", { callId: "call_none" })).rejects.toThrow(/no call/)
    expect(await world.operate("call answer", { callId })).toMatchObject({
      legs: [{ leg: 1, state: "asked" }],
    })
    await world.operate("wait")
    expect(await world.operate("call press", { callId, digits: "9" })).toMatchObject({
      callId,
      legs: [{ leg: 1, state: "gone" }],
      phase: "greeting",
    })
  })
})
