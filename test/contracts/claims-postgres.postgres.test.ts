import { describe, expect, it, onTestFinished } from "vitest"
import { openPostgresClaims } from "../../adapters/claims/postgres.ts"
import type { Processes } from "../../adapters/processes/port.ts"
import { databaseUnderTest } from "../postgres/database-under-test.ts"
import { aRequest, claimsContract } from "./claims-contract.ts"

const database = await databaseUnderTest()

/** A process among those that live. */
function aProcess(own: string, living: Set<string>): Processes {
  living.add(own)
  return { own, isAlive: async (processId) => living.has(processId) }
}

claimsContract("claims in PostgreSQL", async () =>
  openPostgresClaims(database.pool(), aProcess("prc_1", new Set())),
)

describe("claims of several processes", () => {
  function twoProcesses() {
    const living = new Set<string>()
    const pool = database.pool()
    onTestFinished(() => living.clear())
    const [first, second] = ["prc_first", "prc_second"].map((own) =>
      openPostgresClaims(pool, aProcess(own, living)),
    )
    if (first === undefined || second === undefined) throw new Error("there are two")
    return { living, first, second, pool }
  }

  it("leaves a claim to a process that lives", async () => {
    const { first, second } = twoProcesses()
    const request = aRequest()
    await first.claim(request)
    expect(await second.claim(request)).toMatchObject({ state: "running" })
  })

  it("takes over what a dead process held, as the same attempt", async () => {
    const { living, first, second } = twoProcesses()
    const request = aRequest()
    await first.claim(request)
    await first.nextAttempt(request)
    living.delete("prc_first")
    expect(await second.claim(request)).toMatchObject({
      state: "mine",
      attempt: 1,
      takenOver: true,
    })
    expect(await second.claim(request)).toMatchObject({ state: "running" })
  })

  it("takes over its own row that it has no longer in hand", async () => {
    const { first, pool } = twoProcesses()
    const request = aRequest()
    await first.claim(request)
    await first.finish(request, "kept")
    await pool.query(
      "update ledger.claims set state = 'running', answer = null where idempotency_key = $1",
      [request.idempotencyKey],
    )
    expect(await first.claim(request)).toMatchObject({ state: "mine", attempt: 0, takenOver: true })
  })

  it("lets one of twenty take it over", async () => {
    const { living, first, second } = twoProcesses()
    const request = aRequest()
    await first.claim(request)
    living.delete("prc_first")
    const taken = await Promise.all(Array.from({ length: 20 }, () => second.claim(request)))
    expect(taken.filter(({ state }) => state === "mine")).toHaveLength(1)
    expect(taken.filter(({ state }) => state === "running")).toHaveLength(19)
  })

  it("gives a process that was thought dead no say in what its successor does", async () => {
    const { living, first, second } = twoProcesses()
    const request = aRequest()
    await first.claim(request)
    living.delete("prc_first")
    await second.claim(request)
    living.add("prc_first")
    await first.release(request)
    expect(await first.claim(request)).toMatchObject({ state: "running" })
    await first.finish(request, "of the first")
    await first.leave(request)
    await expect(first.nextAttempt(request)).rejects.toThrow("not held by this process")
    await second.finish(request, "of the second")
    expect(await first.claim(request)).toEqual({ state: "done", answer: "of the second" })
  })
})
