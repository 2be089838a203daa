import { PROGRAM } from "../../src/slices.ts"
import { sql } from "kysely"
import { describe, expect, it } from "vitest"
import { buildApp } from "../../src/frame/http/app.ts"
import { makeCompany, ownWorld } from "../support/world.ts"

const world = await ownWorld("store")

describe("503", () => {
  it("with Retry-After answers a call whose database connection was lost, and charges nothing", async () => {
    const { key, companyId } = await makeCompany(world)
    const lost = Object.assign(new Error("terminating connection"), { code: "57P01" })
    const claims = { ...world.ports.claims, claim: () => Promise.reject(lost) }
    const app = await buildApp({ ...world.ports, claims }, PROGRAM.entries, PROGRAM.retired)
    const answer = await app.inject({
      method: "POST",
      url: "/api/v1/phone/messages",
      headers: { authorization: `Bearer ${key}`, "idempotency-key": "lost" },
      payload: { to: "+14155550123", body: "hello" },
    })
    expect(answer.statusCode).toBe(503)
    expect(answer.headers["retry-after"]).toBe("5")
    expect(answer.json()).toMatchObject({ error: "unavailable" })
    const { rows } = await sql<{ charged: number }>`
      select count(*) as charged from eventstore.events
      where stream = ${`ledger-${companyId}`} and type = 'Charged'`.execute(world.ports.readAll)
    expect(rows[0]?.charged).toBe(0)
    await app.close()
  })
})
