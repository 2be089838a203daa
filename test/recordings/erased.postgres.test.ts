/** Recordings of a company that is erased. */
import { sql } from "kysely"
import { beforeAll, describe, expect, it } from "vitest"
import { recordingsStreamOf } from "../../domain/recordings/aggregates.ts"
import { collectEvents } from "../contracts/event-store-fixture.ts"
import { ledgerFactsOf } from "../effects/spending.ts"
import { makeCallsFree, makeCompany, ownWorld } from "../support/world.ts"
import { RECORDINGS_PATH, fetchRecording, storeRecording } from "./recording-world.ts"

const world = await ownWorld("time")
beforeAll(async () => {
  await makeCallsFree(world)
})

describe("the recordings of an erased company", () => {
  it("lose their blobs, route and nightly jobs, and those of other companies stay", async () => {
    const [company, other] = [await makeCompany(world), await makeCompany(world)]
    const callId = await storeRecording(world, company, { subject: "caller1" })
    await storeRecording(world, company, { callId, kind: "voicemail" })
    const others = await storeRecording(world, other)
    await world.operate("company delete", { company: company.companyId })
    await world.operate("clock advance", { duration: "15d" })
    const { rows } = await sql<{ blob_id: string }>`select blob_id from ledger.blobs`.execute(
      world.ports.readAll,
    )
    expect(rows).toEqual([{ blob_id: `${others}-call` }])
    const stream = recordingsStreamOf(company.companyId).stream
    const facts = (await collectEvents(world.ports.store.read(stream))).map(({ type, data }) => [
      type,
      (JSON.parse(data) as { readonly reason?: string }).reason,
    ])
    expect(facts.filter(([type]) => type === "RecordingDeleted")).toEqual([
      ["RecordingDeleted", "erased"],
      ["RecordingDeleted", "erased"],
    ])
    // Its keys no longer work.
    expect((await fetchRecording(world, company, callId)).status).toBe(401)
    const count = facts.length
    await world.operate("clock advance", { duration: "5d" })
    expect(await collectEvents(world.ports.store.read(stream))).toHaveLength(count)
    expect(await ledgerFactsOf(world, company.companyId, "Charged")).toEqual([])
    expect((await fetchRecording(world, other, others)).status).toBe(200)
  })

  it("answer 404 as soon as the sealing keys are destroyed", async () => {
    const company = await makeCompany(world)
    const callId = await storeRecording(world, company)
    await world.ports.erasure.destroyKeys(company.companyId)
    const { status, body } = await world.call(company.key, "GET", `${RECORDINGS_PATH}/${callId}`)
    expect([status, body.error]).toEqual([404, "not_found"])
  })
})
