import { randomUUID } from "node:crypto"
import { sql } from "kysely"
import { describe, expect, it } from "vitest"
import { openLastWrites, formatPositionToken } from "../../src/frame/routes/checks/6-position.ts"
import { MESSAGES_PATH, postText } from "../phone/text-requests.ts"
import { makeCompany, makeKey, ownWorld } from "../support/world.ts"

const world = await ownWorld("settings")
const company = await makeCompany(world)
/** A second key, whose reads do not wait for the first key's writes by default. */
const reader = (await makeKey(world, company)).key

/** Reads the texts with the second key at a position. */
async function readAt(position: string) {
  const headers = { "ledger-position": position }
  const {
    status,
    headers: found,
    body,
  } = await world.call(reader, "GET", MESSAGES_PATH, { headers })
  expect(status).toBe(200)
  const ids: readonly string[] = body.messages.map(({ id }: { id: string }) => id)
  return { ids, stale: found["ledger-stale"] }
}

/** Runs work while the read model of texts is locked. */
async function whileHeldUp<T>(work: () => Promise<T>): Promise<T> {
  return world.ports.readAll.transaction().execute(async (tx) => {
    await sql`lock table read.messages in share mode`.execute(tx)
    return work()
  })
}

describe("Ledger-Position", () => {
  it("of a write shows that write to another key", async () => {
    for (let i = 0; i < 10; i += 1) {
      const { headers, body } = await postText(world, company.key)
      const { ids, stale } = await readAt(String(headers["ledger-position"]))
      expect([ids.at(-1), stale]).toEqual([body.id, undefined])
    }
  })

  it("makes a read wait", async () => {
    let read: ReturnType<typeof readAt> | undefined
    const sent = await whileHeldUp(async () => {
      const text = await postText(world, company.key)
      read = readAt(String(text.headers["ledger-position"]))
      return text
    })
    const { ids, stale } = (await read) ?? { ids: [], stale: "never read" }
    expect([ids.at(-1), stale]).toEqual([sent.body.id, undefined])
  })

  it("makes a read wait at most two seconds; the answer then says that it may be stale", async () => {
    const { id, ids, stale } = await whileHeldUp(async () => {
      const text = await postText(world, company.key)
      const read = await readAt(String(text.headers["ledger-position"]))
      return { id: text.body.id, ...read }
    })
    expect([ids.includes(id), stale]).toEqual([false, "true"])
  })

  it("is in every answer to a change but not in the answer to a read", async () => {
    const url = "/api/v1/phone/opt-outs"
    const body = { phone: "+14155550123" }
    for (const method of ["POST", "DELETE"] as const) {
      const { headers } = await world.call(company.key, method, url, { body })
      expect(headers["ledger-position"]).toMatch(/^[0-9a-z]+$/)
    }
    const { headers } = await world.call(company.key, "GET", url)
    expect(headers["ledger-position"]).toBeUndefined()
  })

  it("of the start and of the head is accepted", async () => {
    const head = formatPositionToken(await world.ports.store.head(), 0)
    for (const position of ["0", head]) expect((await readAt(position)).stale).toBeUndefined()
  })

  it("beyond the head is rejected with 400", async () => {
    const { commit } = await world.ports.store.head()
    for (const beyond of [commit + 1n, commit + 1_000_000n, 2n ** 66n]) {
      const headers = {
        "ledger-position": formatPositionToken({ commit: beyond, prepare: beyond }, 0),
      }
      const { status, body } = await world.call(reader, "GET", MESSAGES_PATH, { headers })
      expect([status, body.error]).toEqual([400, "validation"])
      expect(Object.keys(body.fields)).toEqual(["Ledger-Position"])
    }
  })

  it("of a later generation is rejected with 400", async () => {
    const headers = { "ledger-position": formatPositionToken({ commit: 0n, prepare: 0n }, 1) }
    const { status, body } = await world.call(reader, "GET", MESSAGES_PATH, { headers })
    expect([status, body.error]).toEqual([400, "validation"])
  })

  it.for([
    "",
    "-1",
    "A",
    "1.2.3",
    "1.",
    ".1",
    "0x10",
    "1 2",
    "zzzzzzzzzzzzzz",
    "'; drop",
    "1,2",
    "1-",
    "0-0",
    "-0",
    "1-0-0",
  ])("with a malformed value is rejected with 400: %s", async (position) => {
    const headers = { "ledger-position": position }
    for (const method of ["GET", "POST"] as const) {
      const text = method === "POST" ? { body: { to: "+14155550123", body: "x" } } : {}
      const { status, body } = await world.call(reader, method, MESSAGES_PATH, { ...text, headers })
      expect([status, body.error]).toEqual([400, "validation"])
    }
  })

  it("is checked after key and permissions", async () => {
    const headers = { "ledger-position": "no position" }
    expect((await world.call(null, "GET", MESSAGES_PATH, { headers })).status).toBe(401)
    const user = await makeKey(world, company, { role: "user" })
    expect((await world.call(user.key, "GET", MESSAGES_PATH, { headers })).status).toBe(403)
  })
})

describe("a rejection that recorded facts", () => {
  const headers = () => ({ "idempotency-key": randomUUID() })
  const buy = (key: string) =>
    world.call(key, "POST", "/api/v1/credits", { body: { amount: 20 }, headers: headers() })

  it.each([
    ["declined", 402, "declined"],
    ["needs_owner", 402, "needs_owner"],
    ["unavailable", 503, "unavailable"],
  ])(
    "has their position, and the next read with the same key waits for it: %s",
    async (outcome, status, error) => {
      const card = { company: company.companyId, verified: true }
      const { key } = await makeKey(world, company, {
        addFundsPerPurchase: "50",
        addFundsPerMonth: "500",
      })
      const once = { name: "cards", outcome, times: 1 }
      if (outcome === "unavailable") await world.operate("simulator set", once)
      else await world.operate("card set", { ...card, outcome })
      const { refused, read } = await world.ports.readAll.transaction().execute(async (tx) => {
        await sql`lock table read.purchases in share mode`.execute(tx)
        // The read model cannot show the recorded facts yet, so the read says that it may be stale.
        const answer = await buy(key)
        return { refused: answer, read: await world.call(key, "GET", "/api/v1/credits") }
      })
      expect([refused.status, refused.body.error]).toEqual([status, error])
      expect(refused.headers["ledger-position"]).toMatch(/^[0-9a-z]+$/)
      expect(read.headers["ledger-stale"]).toBe("true")
      const { body, headers: found } = await world.call(key, "GET", "/api/v1/credits")
      expect([body.pending, found["ledger-stale"]]).toEqual([0, undefined])
      await world.operate("card set", card)
    },
  )

  it("differs from one that recorded none, which has no position", async () => {
    const { headers: found, status } = await world.call(company.key, "POST", "/api/v1/credits", {
      body: { amount: 1 },
      headers: headers(),
    })
    expect([status, found["ledger-position"]]).toEqual([400, undefined])
  })
})

describe("the last write of a key", () => {
  const at = (position: bigint) => ({ commit: position, prepare: position })

  it("is the one with the highest position, in whatever order the calls ended", () => {
    const writes = openLastWrites()
    writes.record("key_a", at(5n))
    writes.record("key_a", at(3n))
    writes.record("key_b", at(1n))
    expect(writes.last("key_a")).toEqual(at(5n))
    expect(writes.last("key_b")).toEqual(at(1n))
    expect(writes.last("key_c")).toBeNull()
  })

  it("is remembered for the ten thousand keys that wrote most recently", () => {
    const writes = openLastWrites()
    for (let i = 0; i < 10_000; i += 1) writes.record(`key_${i}`, at(BigInt(i)))
    writes.record("key_0", at(20_000n))
    writes.record("key_new", at(20_001n))
    expect(writes.last("key_1")).toBeNull()
    expect(writes.last("key_0")).toEqual(at(20_000n))
  })
})
