/** The contract of every store of idempotency claims. */
import { describe, expect, it, onTestFinished } from "vitest"
import {
  openMemoryIdempotency,
  openPostgresIdempotency,
} from "../../adapters/postgres/idempotency/postgres.ts"
import type { IdempotencyClaimRequest } from "../../adapters/postgres/idempotency/port.ts"
import { ClaimLost } from "../../adapters/postgres/idempotency/port.ts"
import type { Processes } from "../../adapters/postgres/leases/port.ts"
import { databaseUnderTest } from "../postgres/database-under-test.ts"

const database = await databaseUnderTest()

function aProcess(ownId: string, living: Set<string>): Processes {
  living.add(ownId)
  return { ownId, isAlive: async (processId) => living.has(processId) }
}

let requests = 0

/** A request with a new key. */
function aRequest(parts: Partial<IdempotencyClaimRequest> = {}): IdempotencyClaimRequest {
  requests += 1
  return {
    companyId: "co_aaaaaa",
    keyId: "key_aaaaaaaa",
    idempotencyKey: `key ${requests}`,
    fingerprint: "a".repeat(64),
    requestId: `req_${requests}`,
    at: Date.UTC(2026, 10, 21),
    ...parts,
  }
}

describe.for([
  ["memory", async () => openMemoryIdempotency()],
  [
    "PostgreSQL",
    async () => openPostgresIdempotency(database.pool(), aProcess("prc_1", new Set())),
  ],
] as const)("claims in %s", ([, open]) => {
  it("give a new key to the first caller, and report it as running to others", async () => {
    const claims = await open()
    const request = aRequest()
    expect(await claims.claim(request)).toMatchObject({
      state: "claimed",
      attempt: 0,
      isTakenOver: false,
    })
    expect(await claims.claim(request)).toMatchObject({ state: "running" })
  })

  it("give a key to exactly one of twenty concurrent callers", async () => {
    const claims = await open()
    const request = aRequest()
    const made = await Promise.all(Array.from({ length: 20 }, () => claims.claim(request)))
    const states = made.map(({ state }) => state).toSorted()
    expect(states).toEqual(["claimed", ...Array.from({ length: 19 }, () => "running")])
  })

  it("handle many concurrent keys, and store the answer of each", async () => {
    const claims = await open()
    const many = Array.from({ length: 250 }, () => aRequest())
    const isKnown = (_: unknown, i: number) => i % 5 === 0
    await Promise.all(many.filter(isKnown).map((request) => claims.claim(request)))
    const made = await Promise.all(many.map((request) => claims.claim(request)))
    expect(made.map(({ state }) => state)).toEqual(
      many.map((_, i) => (i % 5 === 0 ? "running" : "claimed")),
    )
    const answers = many.map(({ idempotencyKey }) => `answer of ${idempotencyKey}`)
    await Promise.all(many.map((request, i) => claims.finish(request, answers[i] as string)))
    const stored = await Promise.all(many.map((request) => claims.claim(request)))
    expect(stored).toEqual(answers.map((answer) => ({ state: "done", answer })))
  })

  it("store the answer byte for byte for retries", async () => {
    const claims = await open()
    const request = aRequest()
    await claims.claim(request)
    await claims.finish(request, '{"body":"déjà \\u0000 vu"}')
    const again = { state: "done", answer: '{"body":"déjà \\u0000 vu"}' }
    expect(await claims.claim(request)).toEqual(again)
    expect(await claims.claim({ ...request, requestId: "req_other" })).toEqual(again)
  })

  it.each(["running", "done", "abandoned"] as const)(
    "conflict for another request with a key that is %s",
    async (state) => {
      const claims = await open()
      const request = aRequest()
      await claims.claim(request)
      if (state === "done") await claims.finish(request, "{}")
      if (state === "abandoned") await claims.abandon(request)
      const other = { ...request, fingerprint: "b".repeat(64) }
      expect(await claims.claim(other)).toEqual({ state: "conflict" })
    },
  )

  it("release the key after a rejection, for any request, as the next attempt", async () => {
    const claims = await open()
    const request = aRequest()
    await claims.claim(request)
    await claims.release(request)
    const other = { ...request, fingerprint: "b".repeat(64) }
    expect(await claims.claim(other)).toMatchObject({
      state: "claimed",
      attempt: 1,
      isTakenOver: false,
    })
    await claims.release(other)
    expect(await claims.claim(request)).toMatchObject({
      state: "claimed",
      attempt: 2,
      isTakenOver: false,
    })
  })

  it("let a key with an unknown outcome be taken over, as the same attempt", async () => {
    const claims = await open()
    const request = aRequest()
    await claims.claim(request)
    await claims.abandon(request)
    expect(await claims.claim(request)).toMatchObject({
      state: "claimed",
      attempt: 0,
      isTakenOver: true,
    })
    expect(await claims.claim(request)).toMatchObject({ state: "running" })
  })

  it("move a running claim to the next attempt", async () => {
    const claims = await open()
    const request = aRequest()
    await claims.claim(request)
    expect(await claims.nextAttempt(request)).toBe(1)
    expect(await claims.claim(request)).toMatchObject({ state: "running" })
    await claims.abandon(request)
    expect(await claims.claim(request)).toMatchObject({
      state: "claimed",
      attempt: 1,
      isTakenOver: true,
    })
  })

  it("are separate for each API key", async () => {
    const claims = await open()
    const request = aRequest()
    const other = { ...request, keyId: "key_bbbbbbbb" }
    await claims.claim(request)
    expect(await claims.claim(other)).toMatchObject({ state: "claimed" })
    await claims.finish(other, "{}")
    expect(await claims.claim(request)).toMatchObject({ state: "running" })
  })

  it("ignore callers that do not hold the claim", async () => {
    const claims = await open()
    const request = aRequest()
    await claims.release(request)
    expect(await claims.claim(request)).toMatchObject({
      state: "claimed",
      attempt: 0,
      isTakenOver: false,
    })
    await claims.finish(request, "first")
    await claims.finish(request, "second")
    await claims.release(request)
    await claims.abandon(request)
    expect(await claims.claim(request)).toEqual({ state: "done", answer: "first" })
    await expect(claims.nextAttempt(request)).rejects.toThrow(ClaimLost)
  })

  it("delete keys claimed before a time and no later ones, so that they can start again", async () => {
    const claims = await open()
    const at = Date.UTC(2026, 0, 1)
    const [old, young] = [aRequest({ at: at - 1 }), aRequest({ at })]
    for (const request of [old, young]) {
      await claims.claim(request)
      await claims.finish(request, "{}")
    }
    expect(await claims.forgetBefore(at)).toBe(1)
    expect(await claims.claim(young)).toMatchObject({ state: "done" })
    const again = { ...old, requestId: "req_again", at }
    expect(await claims.claim(again)).toMatchObject({
      state: "claimed",
      firstRequestId: "req_again",
    })
  })

  it("name the first request of a key through attempts and takeovers", async () => {
    const claims = await open()
    const request = aRequest()
    const begun = request.requestId
    expect(await claims.claim(request)).toMatchObject({ firstRequestId: begun })
    await claims.release(request)
    const second = { ...request, requestId: "req_second" }
    expect(await claims.claim(second)).toMatchObject({ attempt: 1, firstRequestId: begun })
    await claims.abandon(second)
    const third = { ...request, requestId: "req_third" }
    expect(await claims.claim(third)).toMatchObject({
      attempt: 1,
      firstRequestId: begun,
      isTakenOver: true,
    })
  })
})

describe("claims of multiple processes", () => {
  function twoProcesses() {
    const living = new Set<string>()
    const pool = database.pool()
    onTestFinished(() => living.clear())
    const [first, second] = ["prc_first", "prc_second"].map((own) =>
      openPostgresIdempotency(pool, aProcess(own, living)),
    )
    if (first === undefined || second === undefined) throw new Error("there are two")
    return { living, first, second, pool }
  }

  it("stay with a process that is alive", async () => {
    const { first, second } = twoProcesses()
    const request = aRequest()
    await first.claim(request)
    expect(await second.claim(request)).toMatchObject({ state: "running" })
  })

  it("are taken over from a dead process, as the same attempt", async () => {
    const { living, first, second } = twoProcesses()
    const request = aRequest()
    await first.claim(request)
    await first.nextAttempt(request)
    living.delete("prc_first")
    expect(await second.claim(request)).toMatchObject({
      state: "claimed",
      attempt: 1,
      isTakenOver: true,
    })
    expect(await second.claim(request)).toMatchObject({ state: "running" })
  })

  it("can be taken over by the process itself if it no longer executes the request", async () => {
    const { first, pool } = twoProcesses()
    const request = aRequest()
    await first.claim(request)
    await first.finish(request, "kept")
    await pool.query(
      "update ledger.idempotent_requests set state = 'running', answer = null where idempotency_key = $1",
      [request.idempotencyKey],
    )
    expect(await first.claim(request)).toMatchObject({
      state: "claimed",
      attempt: 0,
      isTakenOver: true,
    })
  })

  it("are taken over by one of twenty callers", async () => {
    const { living, first, second } = twoProcesses()
    const request = aRequest()
    await first.claim(request)
    living.delete("prc_first")
    const taken = await Promise.all(Array.from({ length: 20 }, () => second.claim(request)))
    expect(taken.filter(({ state }) => state === "claimed")).toHaveLength(1)
    expect(taken.filter(({ state }) => state === "running")).toHaveLength(19)
  })

  it("do not change for a process that was wrongly considered dead", async () => {
    const { living, first, second } = twoProcesses()
    const request = aRequest()
    await first.claim(request)
    living.delete("prc_first")
    await second.claim(request)
    living.add("prc_first")
    await first.release(request)
    expect(await first.claim(request)).toMatchObject({ state: "running" })
    await first.finish(request, "of the first")
    await first.abandon(request)
    await expect(first.nextAttempt(request)).rejects.toThrow("does not hold the idempotency claim")
    await second.finish(request, "of the second")
    expect(await first.claim(request)).toEqual({ state: "done", answer: "of the second" })
  })
})
