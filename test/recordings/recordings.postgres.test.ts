/** Listing and deleting recordings, and setting their retention. */
import { beforeEach, describe, expect, it } from "vitest"
import type { Company } from "../support/world.ts"
import { makeCompany, sharedWorld } from "../support/world.ts"
import {
  CALLED_NUMBER,
  CALLER_NUMBER,
  RECORDINGS_PATH,
  listRecordingsOf,
  fetchRecording,
  newRecordedCallId,
  storeRecording,
  removeRecording,
  savedAudio,
} from "./recording-world.ts"

const world = await sharedWorld({ rateLimits: "off" })
let company: Company
beforeEach(async () => {
  company = await makeCompany(world)
})

const keepDays = async (days: unknown) => {
  const { status, body } = await world.call(company.key, "PUT", `${RECORDINGS_PATH}/keep`, {
    body: { days },
  })
  return [status, status === 200 ? body.days : body.fields]
}

describe("the list", () => {
  it("shows the newest calls first, page by page", async () => {
    const newestFirst: string[] = []
    for (let i = 0; i < 5; i += 1) newestFirst.unshift(await storeRecording(world, company))
    const first = await listRecordingsOf(world, company, "?limit=2")
    expect(first.map(({ id }) => id)).toEqual(newestFirst.slice(0, 2))
    const before = encodeURIComponent(first[1]?.createdAt ?? "")
    const rest = await listRecordingsOf(world, company, `?before=${before}`)
    expect(rest.map(({ id }) => id)).toEqual(newestFirst.slice(2))
    expect(first[0]).toMatchObject({
      direction: "in",
      from: CALLER_NUMBER,
      to: CALLED_NUMBER,
      voicemail: null,
    })
  })

  it("shows both kinds of a call, and leaves out calls without recordings", async () => {
    const callId = await storeRecording(world, company, { seconds: 5 })
    await storeRecording(world, company, { callId, kind: "voicemail", seconds: 7 })
    await storeRecording(world, await makeCompany(world))
    const listedKinds = async () =>
      (await listRecordingsOf(world, company)).map(({ recording, voicemail }) => [
        recording,
        voicemail,
      ])
    expect(await listedKinds()).toEqual([[{ seconds: 5 }, { seconds: 7 }]])
    await removeRecording(world, company, callId, "call")
    expect(await listedKinds()).toEqual([[null, { seconds: 7 }]])
    await removeRecording(world, company, callId)
    expect(await listedKinds()).toEqual([])
  })

  it.for(["limit=0", "limit=101", "limit=1.5", "limit=x", "before=yesterday", "since=1"])(
    "rejects %s",
    async (query) => {
      const { status, body } = await world.call(company.key, "GET", `${RECORDINGS_PATH}?${query}`)
      expect([status, Object.keys(body.fields)]).toEqual([400, [query.split("=")[0]]])
    },
  )
})

describe("a deletion", () => {
  it.for([
    [undefined, 2],
    ["both", 2],
    ["call", 1],
    ["voicemail", 1],
  ] as const)("of kind %s deletes %i of a call that has both kinds", async ([kind, deleted]) => {
    const callId = await storeRecording(world, company)
    await storeRecording(world, company, { callId, kind: "voicemail" })
    expect((await removeRecording(world, company, callId, kind)).body).toEqual({ deleted })
    expect((await removeRecording(world, company, callId)).body).toEqual({ deleted: 2 - deleted })
    expect((await removeRecording(world, company, callId)).body).toEqual({ deleted: 0 })
  })

  it("of a kind that does not exist deletes none, and of an unknown call is 404", async () => {
    const callId = await storeRecording(world, company)
    expect((await removeRecording(world, company, callId, "voicemail")).body).toEqual({
      deleted: 0,
    })
    const others = await storeRecording(world, await makeCompany(world))
    for (const unknown of [newRecordedCallId(), others, "msg_1", "call_", "x".repeat(100)]) {
      const { status, body } = await removeRecording(world, company, unknown)
      expect([unknown, status, body.error]).toEqual([unknown, 404, "not_found"])
    }
    expect((await fetchRecording(world, company, callId)).status).toBe(200)
  })

  it("of a call that was never recorded deletes none", async () => {
    const { callId } = await savedAudio(world, company)
    expect((await removeRecording(world, company, callId)).body).toEqual({ deleted: 0 })
    expect(await listRecordingsOf(world, company)).toEqual([])
  })

  it("counts each recording once among concurrent requests", async () => {
    const callId = await storeRecording(world, company)
    const answers = await Promise.all(
      [1, 2, 3, 4].map(() => removeRecording(world, company, callId)),
    )
    expect(answers.map(({ body }) => body.deleted).toSorted()).toEqual([0, 0, 0, 1])
  })
})

describe("the retention of recordings", () => {
  it("is unlimited until it is set, and can be changed", async () => {
    const read = async () =>
      (await world.call(company.key, "GET", `${RECORDINGS_PATH}/keep`)).body.days
    expect(await read()).toBeNull()
    for (const days of [30, 90, 365, null, 30]) {
      expect(await keepDays(days)).toEqual([200, days])
      expect(await read()).toBe(days)
    }
  })

  it.for([0, 31, "30", -30, true, undefined, [30]])("cannot be %j", async (days) => {
    const [status, fields] = await keepDays(days)
    const message = days === undefined ? "Is required." : "Must be 30, 90, 365 or null."
    expect([status, fields]).toEqual([400, { days: message }])
  })
})
