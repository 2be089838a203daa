/** The demo's week as a newcomer gets it: real processes on a new data folder. */
import { access, mkdir } from "node:fs/promises"
import { join } from "node:path"
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import { operateOn } from "../faults/supervised.ts"
import { appeared, interrupted } from "../support/interrupted.ts"
import type { ServerProcess } from "../support/server-process.ts"
import { makePlace } from "../support/server-process.ts"

const DAY_MS = 86_400_000
/** It takes some seconds where nobody else needs the machine. */
const PLAYED_WITHIN_MS = 400_000

const place = await makePlace()
let server: ServerProcess
beforeAll(async () => {
  server = await place.start("--demo")
}, PLAYED_WITHIN_MS)
afterAll(() => place.clear())

const operate = operateOn(place)
const ofAcme = (name: string, input: object = {}) => operate(name, { company: "acme", ...input })
const countedBy = (rows: readonly Record<string, unknown>[], field: string) =>
  [...new Set(rows.map((row) => row[field]))].toSorted()

describe("the demo's week", () => {
  it("has charges of several kinds on every day until now", async () => {
    const { now, clock } = await operate("clock show")
    expect(clock).toBe("system")
    const months = [now, new Date(Date.parse(now) - 8 * DAY_MS).toISOString()]
    const charges: { at: string; item: string }[] = []
    for (const month of new Set(months.map((one) => one.slice(0, 7)))) {
      charges.push(...(await ofAcme("charge list", { month })).charges)
    }
    const ages = charges.map(({ at }) => Math.floor((Date.parse(now) - Date.parse(at)) / DAY_MS))
    expect([...new Set(ages)].toSorted()).toEqual([0, 1, 2, 3, 4, 5, 6])
    expect(countedBy(charges, "item")).toEqual(
      expect.arrayContaining([
        "address_suggestion",
        "box_minute_large",
        "call_minute",
        "code review",
        "email_recipient",
        "number_month_local",
        "print run",
        "text_segment",
      ]),
    )
  })

  it("has boxes that ran as long as somebody worked in them, each minute paid", async () => {
    const { boxes } = await ofAcme("box list")
    const ran = boxes.map((one: Record<string, string>) => {
      const ms = Date.parse(one["stoppedAt"] ?? "") - Date.parse(one["createdAt"] ?? "")
      return { minutes: Math.round(ms / 60_000), stopReason: one["stopReason"] }
    })
    const paid = boxes.map(({ spent }: { spent: { minutes: number } }) => spent.minutes)
    expect(ran.map(({ minutes }: { minutes: number }) => minutes)).toEqual(paid)
    expect(paid.toSorted((one: number, other: number) => one - other)).toEqual([5, 7, 9, 11])
    expect(countedBy(ran, "stopReason")).toEqual(["stopped"])
  })

  it("ends with a limit nearly used, and with refusals by limits and for want of funds", async () => {
    const { limits } = await ofAcme("limit list")
    const ai = limits.find(
      (one: Record<string, unknown>) => one["holder"] === "company" && one["class"] === "ai",
    )
    expect(ai.usedMicros / ai.amountMicros).toBeCloseTo(0.91, 1)
    const { refusals } = await ofAcme("refusals list")
    expect(countedBy(refusals, "code")).toEqual(["payment_required", "spend_limit_reached"])
    const holders = refusals.flatMap(({ limit }: { limit: { holder: string } | null }) =>
      limit === null ? [] : [limit.holder],
    )
    expect([...new Set(holders)].toSorted()).toEqual(["company", "key"])
  })

  it("holds before an auditor, and leaves nothing waiting that was due", async () => {
    expect(await operate("audit verify")).toMatchObject({ ok: true })
    expect(await ofAcme("audit replay")).toMatchObject({ ok: true })
    const { work } = await operate("work list")
    expect(work.filter((one: { parked: unknown }) => one.parked !== null)).toEqual([])
  })

  it("is played once: another start finds the company as it is", async () => {
    const before = await ofAcme("company show")
    expect(await server.end("SIGTERM")).toBe(0)
    server = await place.start("--demo")
    const line = () => server.lines.find((one) => one.startsWith("  demo "))
    await expect.poll(line).toMatch(/not made: this store has companies already/)
    expect(server.log()).not.toContain("Playing a week")
    expect(await ofAcme("company show")).toEqual(before)
    expect(await server.end("SIGTERM")).toBe(0)
  })
})

it("refuses a folder in which the week was cut short, and says what to do", async () => {
  const cut = await makePlace()
  try {
    await mkdir(cut.dataDir)
    const ended = await interrupted(cut, ["start", "--demo"], appeared(cut.dataDir, "demo-app"))
    expect(ended.stderr).toMatch(/was not played to its end: remove that folder/)
    await expect(access(join(cut.dataDir, "demo-begun"))).resolves.toBeUndefined()
    for (const words of [["start", "--demo"], ["start"], ["company", "list"]]) {
      const refused = await cut.attempt(...words)
      expect(refused.code).toBe(1)
      expect(refused.stderr + refused.stdout).toMatch(/was not played to its end/)
    }
  } finally {
    await cut.clear()
  }
})
