/** Boxes of a process that is away, that stops, or is gone for good; and of one among several. */
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

it("a box whose process is gone ends as lost within minutes, and costs what had begun", async () => {
  const one = await openBoxWorld()
  const company = await makeBoxCompany(one)
  const { companyId } = company
  const boxId = await startBoxAndWait(one.world, company, { idleMinutes: 60 })
  await advance(one.world, "150s")
  const before = await boxViewOf(one.world, companyId, boxId)
  expect(before).toMatchObject({ status: "running", minutes: 3 })
  // Another process, whose machine is another one: an hour passes in which the first is away.
  const world = await one.world.restart()
  await advance(world, "1h")
  const after = await boxViewOf(world, companyId, boxId)
  expect(after).toMatchObject({ status: "stopped", reason: "stopped", minutes: 3 })
  const dueAt = before?.next?.dueAt ?? 0
  expect((after?.endedAt ?? 0) - dueAt).toBeLessThanOrEqual(3 * MINUTE_MS + 1_000)
  // It is shown to have stopped when it was last seen to live: as its last minute began.
  const { stoppedAt } = await getBox(world, company, boxId)
  expect([after?.stoppedAt, Date.parse(stoppedAt)]).toEqual([dueAt - MINUTE_MS, dueAt - MINUTE_MS])
  expect(await spentMicrosOf(world, company)).toBe(3 * BOX_MINUTE_PRICES.small)
  // The slot is another box's: the plan has two.
  await startBoxAndWait(world, company)
  await startBoxAndWait(world, company)
  await world.close()
  await one.close()
}, 60_000)

it("a host that is away for two hours costs nobody a minute, and leaves no work for an operator", async () => {
  const one = await openBoxWorld()
  const { world } = one
  const company = await makeBoxCompany(one)
  const boxId = await startBoxAndWait(world, company, { maxMinutes: 720, idleMinutes: 60 })
  await advance(world, "150s")
  await world.operate("simulator set", { name: "boxhost", outcome: "unavailable" })
  await advance(world, "2h")
  const away = await boxViewOf(world, company.companyId, boxId)
  expect(away).toMatchObject({ status: "stopped", reason: "stopped", minutes: 3 })
  await world.operate("simulator set", { name: "boxhost", outcome: "ok" })
  await advance(world, "10m")
  expect(await spentMicrosOf(world, company)).toBe(3 * BOX_MINUTE_PRICES.small)
  const { jobs: work } = await world.operate("job list", {})
  const asks = ({ kind, stuck }: { kind: string; stuck: unknown }) =>
    kind === "charge-box-minute" || stuck !== null
  expect(work.filter(asks)).toEqual([])
  await startBoxAndWait(world, company)
  await startBoxAndWait(world, company)
  await one.close()
}, 60_000)

it("a box ticks in the process that has its machine, whoever else looks", async () => {
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

it("a command that outlives its server is 503, and in the box's activity", async () => {
  const one = await openBoxWorld()
  const { world } = one
  const { ports } = world
  const company = await makeBoxCompany(one)
  const boxId = await startBoxAndWait(world, company)
  const noted = async () => {
    const entries = await ports.activityLog
      .of<{ readonly result: string }>(KIND)
      .newest(company.companyId, boxId, 1)
    return entries.map(({ content: { result } }) => result)
  }
  const call = apiCallerAt(one.server)
  const body = { command: "sleep 600" }
  const answered = call(company.key, "POST", `${BOXES_PATH}/${boxId}/exec`, { body })
  await expect.poll(noted).toEqual(["began"])
  const closed = world.app.close()
  const { status, headers } = await answered
  expect([status, headers["retry-after"]]).toEqual([503, "60"])
  // Otherwise the server would wait until the connection is let go of, over a minute later.
  expect(headers["connection"]).toBe("close")
  expect(await noted()).toEqual(["no answer"])
  await closed
  await one.close()
})
