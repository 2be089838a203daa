/** Listing recordings, deleting them, and saying for how long they are kept. */
import { beforeEach, describe, expect, it } from "vitest"
import type { Company } from "../support/world.ts"
import { makeCompany, sharedWorld } from "../support/world.ts"
import {
  CALLED,
  CALLER,
  RECORDINGS,
  listed,
  listen,
  newCall,
  record,
  remove,
  savedAudio,
} from "./recorded.ts"

const world = await sharedWorld({ rateLimits: "off" })
let company: Company
beforeEach(async () => {
  company = await makeCompany(world)
})

const keepDays = async (days: unknown) => {
  const { status, body } = await world.call(company.key, "PUT", `${RECORDINGS}/keep`, {
    body: { days },
  })
  return [status, status === 200 ? body.days : body.fields]
}

describe("the list", () => {
  it("shows the newest calls first, page by page", async () => {
    const made: string[] = []
    for (let i = 0; i < 5; i += 1) made.unshift(await record(world, company))
    const first = await listed(world, company, "?limit=2")
    expect(first.map(({ id }) => id)).toEqual(made.slice(0, 2))
    const before = encodeURIComponent(first[1]?.createdAt ?? "")
    const rest = await listed(world, company, `?before=${before}`)
    expect(rest.map(({ id }) => id)).toEqual(made.slice(2))
    expect(first[0]).toMatchObject({ direction: "in", from: CALLER, to: CALLED, voicemail: null })
  })

  it("leaves out calls of which nothing is held, and nothing of a call", async () => {
    const callId = await record(world, company, { seconds: 5 })
    await record(world, company, { callId, kind: "voicemail", seconds: 7 })
    await record(world, await makeCompany(world))
    const shows = async () =>
      (await listed(world, company)).map(({ recording, voicemail }) => [recording, voicemail])
    expect(await shows()).toEqual([[{ seconds: 5 }, { seconds: 7 }]])
    await remove(world, company, callId, "call")
    expect(await shows()).toEqual([[null, { seconds: 7 }]])
    await remove(world, company, callId)
    expect(await shows()).toEqual([])
  })

  it.for(["limit=0", "limit=101", "limit=1.5", "limit=x", "before=yesterday", "since=1"])(
    "refuses %s",
    async (query) => {
      const { status, body } = await world.call(company.key, "GET", `${RECORDINGS}?${query}`)
      expect([status, Object.keys(body.fields)]).toEqual([400, [query.split("=")[0]]])
    },
  )
})

describe("deleting", () => {
  it.for([
    [undefined, 2],
    ["both", 2],
    ["call", 1],
    ["voicemail", 1],
  ] as const)("%s of a call that has both deletes %i", async ([kind, deleted]) => {
    const callId = await record(world, company)
    await record(world, company, { callId, kind: "voicemail" })
    expect((await remove(world, company, callId, kind)).body).toEqual({ deleted })
    expect((await remove(world, company, callId)).body).toEqual({ deleted: 2 - deleted })
    expect((await remove(world, company, callId)).body).toEqual({ deleted: 0 })
  })

  it("a kind that is not there deletes none, and what is no call is 404", async () => {
    const callId = await record(world, company)
    expect((await remove(world, company, callId, "voicemail")).body).toEqual({ deleted: 0 })
    const others = await record(world, await makeCompany(world))
    for (const unknown of [newCall(), others, "msg_1", "call_", "x".repeat(100)]) {
      const { status, body } = await remove(world, company, unknown)
      expect([unknown, status, body.error]).toEqual([unknown, 404, "not_found"])
    }
    expect((await listen(world, company, callId)).status).toBe(200)
  })

  it("of a call that was never recorded deletes none", async () => {
    const { callId } = await savedAudio(world, company)
    expect((await remove(world, company, callId)).body).toEqual({ deleted: 0 })
    expect(await listed(world, company)).toEqual([])
  })

  it("by two at the same time counts each once", async () => {
    const callId = await record(world, company)
    const answers = await Promise.all([1, 2, 3, 4].map(() => remove(world, company, callId)))
    expect(answers.map(({ body }) => body.deleted).toSorted()).toEqual([0, 0, 0, 1])
  })
})

describe("for how long recordings are kept", () => {
  it("is for ever until somebody says it, and what was said last", async () => {
    const read = async () => (await world.call(company.key, "GET", `${RECORDINGS}/keep`)).body.days
    expect(await read()).toBeNull()
    for (const days of [30, 90, 365, null, 30]) {
      expect(await keepDays(days)).toEqual([200, days])
      expect(await read()).toBe(days)
    }
  })

  it.for([0, 31, "30", -30, true, undefined, [30]])("is never %j", async (days) => {
    const [status, fields] = await keepDays(days)
    const message = days === undefined ? "Is required." : "Must be 30, 90, 365 or null."
    expect([status, fields]).toEqual([400, { days: message }])
  })
})
