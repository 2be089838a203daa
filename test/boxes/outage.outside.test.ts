/** Boxes whose process is unavailable, stops or is lost, and boxes of one of several processes. */
import { apiCallerAt } from "../support/api-caller.ts"
import { expect, it } from "vitest"
import { advance, openWorld, spentMicrosOf } from "../support/world.ts"
import {
  BOX_MINUTE_PRICES,
  makeBoxCompany,
  openBoxWorld,
  startBoxAndWait,
  getBox,
  boxViewOf,
  BOXES_PATH,
} from "./box-world.ts"

const MINUTE_MS = 60_000

it("a box whose process is lost ends within minutes, and its started minutes are charged", async () => {
  const one = await openBoxWorld()
  const company = await makeBoxCompany(one)
  const { companyId } = company
  const boxId = await startBoxAndWait(one.world, company, { idleMinutes: 60 })
  await advance(one.world, "150s")
  const before = await boxViewOf(one.world, companyId, boxId)
  expect(before).toMatchObject({ status: "running", minutes: 3 })
  // For an hour only another process on another machine runs.
  const world = await one.world.restart()
  await advance(world, "1h")
  const after = await boxViewOf(world, companyId, boxId)
  expect(after).toMatchObject({ status: "stopped", reason: "stopped", minutes: 3 })
  const dueAt = before?.next?.dueAt ?? 0
  expect((after?.endedAt ?? 0) - dueAt).toBeLessThanOrEqual(3 * MINUTE_MS + 1_000)
  // Its shown end is when it was last seen alive: the start of its last minute.
  const { stoppedAt } = await getBox(world, company, boxId)
  expect([after?.stoppedAt, Date.parse(stoppedAt)]).toEqual([dueAt - MINUTE_MS, dueAt - MINUTE_MS])
  expect(await spentMicrosOf(world, company)).toBe(3 * BOX_MINUTE_PRICES.small)
  // Its slot is free again: the plan has two.
  await startBoxAndWait(world, company)
  await startBoxAndWait(world, company)
  await world.close()
  await one.close()
}, 60_000)

it("a host outage of two hours charges no minute, and leaves no stuck job", async () => {
  const one = await openBoxWorld()
  const { world } = one
  const company = await makeBoxCompany(one)
  const boxId = await startBoxAndWait(world, company, { maxMinutes: 720, idleMinutes: 60 })
  await advance(world, "150s")
  await world.operate("simulator set", { name: "boxhost", outcome: "unavailable" })
  await advance(world, "2h")
  const view = await boxViewOf(world, company.companyId, boxId)
  expect(view).toMatchObject({ status: "stopped", reason: "stopped", minutes: 3 })
  await world.operate("simulator set", { name: "boxhost", outcome: "ok" })
  await advance(world, "10m")
  expect(await spentMicrosOf(world, company)).toBe(3 * BOX_MINUTE_PRICES.small)
  const { jobs } = await world.operate("job list", {})
  const isLeftOver = ({ kind, stuck }: { kind: string; stuck: unknown }) =>
    kind === "charge-box-minute" || stuck !== null
  expect(jobs.filter(isLeftOver)).toEqual([])
  await startBoxAndWait(world, company)
  await startBoxAndWait(world, company)
  await one.close()
}, 60_000)

it("a box is charged by the process that has its machine, although other processes run", async () => {
  const one = await openBoxWorld()
  const company = await makeBoxCompany(one)
  const { companyId } = company
  const boxId = await startBoxAndWait(one.world, company, { maxMinutes: 5, idleMinutes: 60 })
  const settings = { CODE_DIR: one.codeDir }
  const other = await openWorld("start", {
    url: one.world.databaseUrl,
    settings,
    rateLimits: "off",
  })
  await advance(one.world, "10m")
  const view = await boxViewOf(one.world, companyId, boxId)
  expect(view).toMatchObject({ status: "stopped", reason: "time_cap", minutes: 5 })
  expect(await spentMicrosOf(one.world, company)).toBe(5 * BOX_MINUTE_PRICES.small)
  await other.close()
  await one.close()
}, 60_000)

const KIND = { slice: "boxes", kind: "activity", maxEntries: 200 }

it("a command whose server stops gets 503, and is in the box's activity", async () => {
  const one = await openBoxWorld()
  const { world } = one
  const { ports } = world
  const company = await makeBoxCompany(one)
  const boxId = await startBoxAndWait(world, company)
  const lastResult = async () => {
    const entries = await ports.activityLog
      .of<{ readonly result: string }>(KIND)
      .newest(company.companyId, boxId, 1)
    return entries.map(({ content: { result } }) => result)
  }
  const call = apiCallerAt(one.server)
  const body = { command: "sleep 600" }
  const answered = call(company.key, "POST", `${BOXES_PATH}/${boxId}/exec`, { body })
  await expect.poll(lastResult).toEqual(["began"])
  const closed = world.app.close()
  const { status, headers } = await answered
  expect([status, headers["retry-after"]]).toEqual([503, "60"])
  // Otherwise the server would wait over a minute for the connection to close.
  expect(headers["connection"]).toBe("close")
  expect(await lastResult()).toEqual(["no answer"])
  await closed
  await one.close()
})
