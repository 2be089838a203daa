import { appOf } from "../../domain/connection/aggregates.ts"
import { serialize } from "node:v8"
import { describe, expect, it } from "vitest"
import type { AppEvent, Counts } from "../../domain/connection/app-events.ts"
import { COUNTED } from "../../domain/connection/app-events.ts"
import type { CheckIn, ReportDevice } from "../../domain/connection/app.ts"
import { app, appBytes, appCheckpoint } from "../../domain/connection/app.ts"
import type { Stamp } from "../../domain/kernel/decider.ts"
import { fold, given } from "../support/spec.ts"

const EVENING = Date.parse("2026-03-02T23:59:59.999Z")
const installId = "ab".repeat(28)
const counts = Object.fromEntries(COUNTED.map((name) => [name, null])) as unknown as Counts

const checkIn = (changed: Partial<CheckIn & Stamp> = {}): CheckIn & Stamp => ({
  type: "CheckIn",
  at: EVENING,
  installId,
  version: "2.1.0",
  platform: "linux",
  seal: null,
  counts,
  ...changed,
})
const checkedIn = (changed: Partial<CheckIn & Stamp> = {}): AppEvent => ({
  ...checkIn(changed),
  type: "AppCheckedIn",
})

const report = (changed: Partial<ReportDevice & Stamp> = {}): ReportDevice & Stamp => ({
  type: "ReportDevice",
  at: EVENING,
  installId,
  eventId: "event-1",
  attemptId: "attempt-1",
  sequence: 1,
  kind: "app",
  version: "2.1.0",
  status: "started",
  reason: null,
  ...changed,
})
const reported = (changed: Partial<ReportDevice & Stamp> = {}): AppEvent => ({
  ...report(changed),
  type: "DeviceReported",
})

describe("CheckIn", () => {
  it("says how an app is", () => {
    given(app).when(checkIn()).records(checkedIn())
  })

  it("records nothing where it said the same today, and again what changed or is of a new day", () => {
    given(app, checkedIn({ at: EVENING - 1_000 }))
      .when(checkIn())
      .recordsNothing()
    const tomorrow = { at: EVENING + 1 }
    given(app, checkedIn()).when(checkIn(tomorrow)).records(checkedIn(tomorrow))
    for (const changed of [
      { version: "2.2.0" },
      { platform: null },
      { seal: "ab" },
      { counts: { ...counts, deals: 0 } },
    ]) {
      given(app, checkedIn()).when(checkIn(changed)).records(checkedIn(changed))
    }
  })

  it("is compared with the last of the day", () => {
    given(app, checkedIn(), checkedIn({ version: "2.2.0" }))
      .when(checkIn())
      .records(checkedIn())
  })
})

describe("ReportDevice", () => {
  it("reports how an update stands, in whatever order it comes", () => {
    given(app).when(report()).records(reported())
    const late = { eventId: "event-2", sequence: 1 }
    given(app, reported({ sequence: 5 }))
      .when(report(late))
      .records(reported(late))
  })

  it("records nothing for the same report", () => {
    given(app, reported())
      .when(report({ at: EVENING + 5_000 }))
      .recordsNothing()
  })

  it("is refused another report of the same name", () => {
    for (const changed of [
      { attemptId: "attempt-2" },
      { sequence: 2 },
      { kind: "launcher" as const },
      { version: "2.2.0" },
      { status: "failed" as const },
      { reason: "unknown" as const },
    ]) {
      given(app, reported()).when(report(changed)).refuses("event_taken")
    }
  })

  it("remembers the last two thousand reports", () => {
    const many = Array.from({ length: 2_001 }, (_, i) => reported({ eventId: `event-${i + 1}` }))
    given(app, ...many.slice(0, 2_000))
      .when(report())
      .recordsNothing()
    given(app, ...many)
      .when(report())
      .records(reported())
    given(app, ...many)
      .when(report({ eventId: "event-2" }))
      .recordsNothing()
  })
})

describe("an installed app", () => {
  it("is the same from a checkpoint", () => {
    const state = fold(app, checkedIn(), reported(), reported({ eventId: "event-2" }))
    const saved = JSON.parse(JSON.stringify(appCheckpoint.save(state))) as unknown
    expect(appCheckpoint.load(saved)).toEqual(state)
    expect(appCheckpoint.load(appCheckpoint.save(app.initial()))).toEqual(app.initial())
  })

  it("says what it takes in memory", () => {
    const many = Array.from({ length: 1_000 }, (_, i) => reported({ eventId: `event-${i}` }))
    const state = fold(app, checkedIn(), ...many)
    const written = serialize(state).length
    expect(appBytes(state)).toBeGreaterThan(written / 2)
    expect(appBytes(state)).toBeLessThan(written * 6)
  })

  it("has a stream of its own", () => {
    expect(appOf("co_1", "ab12").stream).toBe("app-co_1-ab12")
  })
})
