/** Boxes from their start to their end, and their charges; also ten boxes concurrently. */
import { expect, it, afterEach, describe, vi } from "vitest"
import { collectEvents } from "../contracts/event-store-fixture.ts"
import { exportMonth } from "../billing/bill-export.ts"
import { advance, makeCompany, makeKey, setLimit, spentMicrosOf } from "../support/world.ts"
import {
  BOXES_PATH,
  makeBoxCompany,
  ownBoxWorld,
  startBoxAndWait,
  BOX_MINUTE_PRICES,
  requestBox,
  getBox,
  boxViewOf,
} from "./box-world.ts"
import { auditMinutes } from "./minute-audit.ts"
import { ProviderUnavailable } from "../../adapters/providers/provider-errors.ts"

const one = await ownBoxWorld()

/** The request of each box, its minutes, and why it ends. */
const TEN = [
  [{ size: "small", maxMinutes: 1 }, 1, "time_cap"],
  [{ size: "small", maxMinutes: 25, idleMinutes: 60 }, 25, "time_cap"],
  [{ size: "small", maxMinutes: 720, idleMinutes: 60 }, 60, "stopped"],
  [{ size: "medium", idleMinutes: 5 }, 5, "idle"],
  [{ size: "medium", idleMinutes: 15 }, 15, "idle"],
  [{ size: "medium", idleMinutes: 60, budget: 0.05 }, 12, "budget"],
  [{ size: "large", idleMinutes: 60, budget: 0.1 }, 12, "budget"],
  [{ size: "large", maxMinutes: 10, idleMinutes: 60, budget: 0.08 }, 10, "time_cap"],
  [{ size: "xlarge", maxMinutes: 7 }, 7, "time_cap"],
  // This box has its own key, whose daily limit allows six minutes.
  [{ size: "xlarge", idleMinutes: 60 }, 6, "spending_limit"],
] as const
const MICROS = { small: 2_000, medium: 4_000, large: 8_000, xlarge: 16_000 } as const

it("ten boxes for an hour are charged for the minutes that they ran", async () => {
  const { world } = one
  const company = await makeBoxCompany(one)
  const { companyId } = company
  await world.operate("company change", { company: companyId, plan: "79" })
  const limitedKey = await makeKey(world, company)
  await setLimit(world, company, { key: limitedKey.keyId, period: "day", dollars: "0.1" })
  const ids: string[] = []
  for (const [i, [options]] of TEN.entries()) {
    const caller = i === TEN.length - 1 ? { key: limitedKey.key } : company
    ids.push(await startBoxAndWait(world, caller, options))
  }
  await advance(world, "1h")
  await world.call(company.key, "POST", `${BOXES_PATH}/${ids[2]}/stop`)
  await advance(world, "20m")
  const { boxes } = (await world.call(company.key, "GET", BOXES_PATH)).body
  const shown = new Map<
    string,
    { stopReason: string; spent: { minutes: number; dollars: number } }
  >(boxes.map((box: { id: string }) => [box.id, box]))
  for (const [i, [{ size }, minutes, stopReason]] of TEN.entries()) {
    const dollars = (minutes * MICROS[size]) / 1_000_000
    expect(shown.get(ids[i] ?? ""), `box ${i}`).toMatchObject({
      status: "stopped",
      stopReason,
      spent: { minutes, dollars },
    })
  }
  const sum = TEN.reduce((total, [{ size }, minutes]) => total + minutes * MICROS[size], 0)
  expect(await spentMicrosOf(world, company)).toBe(sum)
  const { charges } = await world.operate("charge list", { company: companyId, limit: 1_000 })
  const billed = charges.reduce(
    (total: number, { amountMicros }: { amountMicros: number }) => total + amountMicros,
    0,
  )
  expect(billed).toBe(sum)
  const prefixes = ["box", "boxes", "ledger"].map((category) => `${category}-${companyId}`)
  const events = await collectEvents(world.ports.store.readAll({ prefixes }))
  const { violations, owedMicros } = auditMinutes(events.map(world.ports.streams.toRecorded), true)
  expect(violations).toEqual([])
  expect([...owedMicros.values()].reduce((total, micros) => total + micros, 0)).toBe(sum)
  const month = new Date(world.ports.clock.now()).toISOString().slice(0, 7)
  const { lines } = await exportMonth(world, company, month)
  const minutes = lines.filter(({ item }) => item?.startsWith("box_minute_") === true)
  expect(minutes.reduce((total, line) => total - Number(line["amount_micros"]), 0)).toBe(sum)
})
const { world } = one
const setBoxHostOutcome = (outcome: string) =>
  world.operate("simulator set", { name: "boxhost", outcome })
afterEach(async () => {
  await setBoxHostOutcome("ok")
})

describe("a start", () => {
  it("returns a starting box, charges its first minute, and runs it with the code", async () => {
    const company = await makeBoxCompany(one)
    const options = {
      branch: "work",
      label: "Fix it",
      maxMinutes: 30,
      budget: 0.5,
      idleMinutes: 10,
    }
    const started = await requestBox(world, company, options)
    expect(started).toMatchObject({
      status: 201,
      body: {
        size: "small",
        branch: "work",
        label: "Fix it",
        status: "starting",
        stopReason: null,
        workspace: "/workspace/repo",
        maxMinutes: 30,
        idleMinutes: 10,
        budget: 0.5,
        previews: [],
        spent: { minutes: 1, dollars: 0.002 },
        stoppedAt: null,
      },
    })
    expect(await spentMicrosOf(world, company)).toBe(BOX_MINUTE_PRICES.small)
    await world.operate("wait")
    const seen = await getBox(world, company, started.body.id)
    expect(seen).toMatchObject({ status: "running", label: "Fix it", branch: "work" })
    const { charges } = await world.operate("charge list", { company: company.companyId })
    expect(charges).toMatchObject([
      { chargeId: `${started.body.id}:1`, state: "settled", amountMicros: BOX_MINUTE_PRICES.small },
    ])
  })

  it("names each invalid field", async () => {
    const company = await makeBoxCompany(one)
    const faults = [
      { size: "huge" },
      { branch: "a..b" },
      { branch: "" },
      { branch: "refs/heads/main" },
      { branch: "main/below" },
      { maxMinutes: 0 },
      { maxMinutes: 721 },
      { maxMinutes: 1.5 },
      { budget: 0.009 },
      { budget: 500.01 },
      { idleMinutes: 4 },
      { idleMinutes: 61 },
      { label: "x".repeat(81) },
      { label: " \u3000" },
    ]
    for (const fault of faults) {
      const refused = await requestBox(world, company, fault)
      expect(refused, JSON.stringify(fault)).toMatchObject({
        status: 400,
        body: { error: "validation" },
      })
      expect(Object.keys(refused.body.fields)).toEqual(Object.keys(fault))
    }
    expect(await spentMicrosOf(world, company)).toBe(0)
  })

  it("is rejected in the specification's order, without a charge or a slot", async () => {
    const withoutCode = await makeCompany(world)
    expect(await requestBox(world, withoutCode)).toMatchObject({
      status: 502,
      body: { error: "clone_failed" },
    })
    const withCode = await makeBoxCompany(one)
    await world.operate("price set", { item: "box_minute_large", dollars: "0.02" })
    const small = await requestBox(world, withoutCode, { size: "large", budget: 0.01 })
    expect(small).toMatchObject({ status: 400, body: { error: "budget_too_small" } })
    await setBoxHostOutcome("full")
    const full = await requestBox(world, withCode)
    expect(full).toMatchObject({ status: 503, body: { error: "box_unavailable" } })
    expect(full.headers["retry-after"]).toBe("60")
    await setBoxHostOutcome("ok")
    const limit = { company: withCode.companyId, class: "general", period: "week" }
    await setLimit(world, withCode, { period: "week", dollars: "0.001" })
    expect(await requestBox(world, withCode)).toMatchObject({
      body: { error: "spend_limit_reached" },
    })
    await world.operate("limit remove", limit)
    expect(await spentMicrosOf(world, withCode)).toBe(0)
    // No refusal left a reserved slot: the plan has two.
    await startBoxAndWait(world, withCode)
    await startBoxAndWait(world, withCode)
    const many = await requestBox(world, withCode)
    expect(many).toMatchObject({ status: 429, body: { error: "too_many_boxes" } })
    expect(many.headers["retry-after"]).toBeUndefined()
  })

  it("succeeds for as many of ten concurrent requests as the plan has slots", async () => {
    const company = await makeBoxCompany(one)
    const answers = await Promise.all(Array.from({ length: 10 }, () => requestBox(world, company)))
    const statuses = answers.map(({ status }) => status).toSorted((a, b) => a - b)
    expect(statuses).toEqual([201, 201, ...Array.from({ length: 8 }, () => 429)])
    expect(await spentMicrosOf(world, company)).toBe(2 * BOX_MINUTE_PRICES.small)
  })

  it("with an Idempotency-Key makes one box, even if it is repeated", async () => {
    const company = await makeBoxCompany(one)
    const headers = { "idempotency-key": "start-1" }
    const request = { body: { size: "small" }, headers }
    const first = await world.call(company.key, "POST", BOXES_PATH, request)
    const again = await world.call(company.key, "POST", BOXES_PATH, request)
    expect(again).toMatchObject({ status: 201, body: { id: first.body.id } })
    expect(await spentMicrosOf(world, company)).toBe(BOX_MINUTE_PRICES.small)
  })

  it("whose code cannot be checked out fails, is refunded, and frees its slot", async () => {
    const company = await makeBoxCompany(one)
    await setBoxHostOutcome("clone-fails")
    const boxId = await startBoxAndWait(world, company)
    await setBoxHostOutcome("ok")
    const seen = await getBox(world, company, boxId)
    expect(seen).toMatchObject({ status: "failed", spent: { minutes: 0, dollars: 0 } })
    expect(await spentMicrosOf(world, company)).toBe(0)
    await startBoxAndWait(world, company)
    await startBoxAndWait(world, company)
  })
})

describe("the minutes of a box", () => {
  it("are charged one by one until the cap, and the shown sum matches the ledger", async () => {
    const company = await makeBoxCompany(one)
    const boxId = await startBoxAndWait(world, company, { maxMinutes: 7, idleMinutes: 60 })
    await advance(world, "1h")
    const seen = await getBox(world, company, boxId)
    expect(seen).toMatchObject({ status: "stopped", stopReason: "time_cap" })
    expect(seen.spent).toEqual({ minutes: 7, dollars: 0.014 })
    expect(await spentMicrosOf(world, company)).toBe(7 * BOX_MINUTE_PRICES.small)
    expect(seen.stoppedAt).toBe(seen.stopsBy)
  })

  it("are one if it is stopped at 60.000 seconds, and two a millisecond later", async () => {
    const company = await makeBoxCompany(one)
    const [first, second] = [
      await startBoxAndWait(world, company),
      await startBoxAndWait(world, company),
    ]
    const { runningAt } = (await boxViewOf(world, company.companyId, second)) ?? {}
    const { runningAt: earlier } = (await boxViewOf(world, company.companyId, first)) ?? {}
    expect(runningAt).toBe(earlier)
    await advance(world, "60s")
    await world.call(company.key, "POST", `${BOXES_PATH}/${first}/stop`)
    const to = new Date((runningAt ?? 0) + 60_001).toISOString()
    await world.operate("clock set", { to })
    await world.call(company.key, "POST", `${BOXES_PATH}/${second}/stop`)
    await advance(world, "1h")
    expect((await getBox(world, company, first)).spent.minutes).toBe(1)
    expect((await getBox(world, company, second)).spent.minutes).toBe(2)
    expect(await spentMicrosOf(world, company)).toBe(3 * BOX_MINUTE_PRICES.small)
  })

  it("stop at exactly as many as a limit allows", async () => {
    const company = await makeBoxCompany(one)
    const { companyId, keyId: key } = company
    await setLimit(world, company, { key, period: "day", dollars: "0.01" })
    const boxId = await startBoxAndWait(world, company, { idleMinutes: 60 })
    await advance(world, "1h")
    const { boxes: listed } = await world.operate("box list", { company: companyId })
    const stopped = { id: boxId, stopReason: "spending_limit", spent: { minutes: 5 } }
    expect(listed).toMatchObject([stopped])
    expect(await spentMicrosOf(world, company)).toBe(5 * BOX_MINUTE_PRICES.small)
  })

  it("stop when the funds are used up", async () => {
    const company = await makeBoxCompany(one, "0.02")
    await world.operate("company change", { company: company.companyId, prepaidOnly: "on" })
    const boxId = await startBoxAndWait(world, company, { idleMinutes: 60 })
    await advance(world, "1h")
    const seen = await getBox(world, company, boxId)
    expect(seen).toMatchObject({ stopReason: "funds", spent: { minutes: 10 } })
    expect(await spentMicrosOf(world, company, 0.02)).toBe(20_000)
  })

  it("stop one idle time after the last command, by the ledger's clock", async () => {
    const company = await makeBoxCompany(one)
    const boxId = await startBoxAndWait(world, company, { idleMinutes: 5 })
    await advance(world, "4m")
    const exec = { body: { command: "echo hi" } }
    await world.call(company.key, "POST", `${BOXES_PATH}/${boxId}/exec`, exec)
    await advance(world, "1h")
    const seen = await getBox(world, company, boxId)
    // The command is seen at the fourth full minute; five more follow.
    expect(seen).toMatchObject({ stopReason: "idle", spent: { minutes: 9 } })
  })

  it("stop within a minute when the key is paused or loses the operation", async () => {
    const company = await makeBoxCompany(one)
    const { companyId } = company
    const { keyId, key } = await makeKey(world, company, {
      operations: ["sandbox.start", "sandbox.read"],
    })
    const paused = await startBoxAndWait(world, { key })
    const narrowed = await startBoxAndWait(world, company)
    await world.operate("key pause", { keyId })
    await world.operate("key change", { keyId: company.keyId, operations: ["sandbox.read"] })
    await advance(world, "90s")
    for (const boxId of [paused, narrowed]) {
      expect(await boxViewOf(world, companyId, boxId)).toMatchObject({
        reason: "key_changed",
        minutes: 1,
      })
    }
  })

  it("end when the host loses the box, and none after its last sign of life is charged", async () => {
    const company = await makeBoxCompany(one)
    const boxId = await startBoxAndWait(world, company, { idleMinutes: 60 })
    await advance(world, "2m")
    await setBoxHostOutcome("lost")
    await advance(world, "1h")
    const seen = await getBox(world, company, boxId)
    expect(seen).toMatchObject({ stopReason: "stopped", spent: { minutes: 2 } })
    expect(await spentMicrosOf(world, company)).toBe(2 * BOX_MINUTE_PRICES.small)
  })

  it("end when the company is deleted", async () => {
    const company = await makeBoxCompany(one)
    const boxId = await startBoxAndWait(world, company)
    await world.operate("company delete", { company: company.companyId })
    await world.operate("wait")
    const view = await boxViewOf(world, company.companyId, boxId)
    expect(view).toMatchObject({ status: "stopped", reason: "key_changed", minutes: 1 })
    expect(await world.ports.boxHost.find(boxId)).toBeNull()
  })
})

describe("the end of a box", () => {
  it("returns the box, ends its machine and frees its slot; a second stop returns the same", async () => {
    const company = await makeBoxCompany(one)
    const [boxId] = [await startBoxAndWait(world, company), await startBoxAndWait(world, company)]
    const stopped = await world.call(company.key, "POST", `${BOXES_PATH}/${boxId}/stop`)
    expect(stopped).toMatchObject({
      status: 200,
      body: { status: "stopped", stopReason: "stopped" },
    })
    const again = await world.call(company.key, "POST", `${BOXES_PATH}/${boxId}/stop`)
    expect(again.body).toEqual(stopped.body)
    await world.operate("wait")
    expect(await world.ports.boxHost.find(boxId)).toBeNull()
    await startBoxAndWait(world, company)
    const listed = await world.call(company.key, "GET", BOXES_PATH)
    expect(listed.body.boxes).toHaveLength(3)
  })

  it("during its start charges its first minute, and it never runs", async () => {
    const company = await makeBoxCompany(one)
    const { boxHost } = world.ports
    const start = vi.spyOn(boxHost, "start").mockRejectedValue(new ProviderUnavailable("no"))
    const started = await requestBox(world, company)
    start.mockRestore()
    const boxId = started.body.id
    const stopped = await world.call(company.key, "POST", `${BOXES_PATH}/${boxId}/stop`)
    expect(stopped.body.status).toBe("stopped")
    await world.operate("wait")
    await advance(world, "10m")
    expect(await getBox(world, company, boxId)).toMatchObject({ status: "stopped" })
    expect(await spentMicrosOf(world, company)).toBe(BOX_MINUTE_PRICES.small)
    expect(await world.ports.boxHost.find(boxId)).toBeNull()
  })

  it("by deletion removes it from the list and from all routes", async () => {
    const company = await makeBoxCompany(one)
    const boxId = await startBoxAndWait(world, company)
    const removed = await world.call(company.key, "DELETE", `${BOXES_PATH}/${boxId}`)
    expect(removed).toMatchObject({ status: 200, body: { ok: true } })
    expect((await world.call(company.key, "GET", BOXES_PATH)).body.boxes).toEqual([])
    for (const path of ["", "/events"]) {
      const gone = await world.call(company.key, "GET", `${BOXES_PATH}/${boxId}${path}`)
      expect(gone.status).toBe(404)
    }
    expect((await world.call(company.key, "DELETE", `${BOXES_PATH}/${boxId}`)).status).toBe(404)
  })
})
