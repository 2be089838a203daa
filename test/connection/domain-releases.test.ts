/** The rules of releases, versions and connected apps. */
import { serialize } from "node:v8"
import { describe, expect, it } from "vitest"
import fc from "fast-check"
import { RELEASES_STREAM, appStreamOf } from "../../domain/connection/aggregates.ts"
import type { ReleaseEvent, SemanticVersion } from "../../domain/connection/releases.ts"
import {
  latestVersion,
  releasesDecider,
  sealStatusOf,
  updatesAfter,
  parseVersion,
  compareVersions,
} from "../../domain/connection/releases.ts"
import { foldFacts, given } from "../support/decider-spec.ts"
import type { AppEvent } from "../../domain/connection/app-events.ts"
import { appCountsFrom } from "../../domain/connection/app-events.ts"
import type { CheckIn, ReportDevice } from "../../domain/connection/app.ts"
import { appDecider, appBytes } from "../../domain/connection/app.ts"
import type { DecisionStamp } from "../../domain/kernel/decider.ts"

const NOW = Date.parse("2026-03-02T10:00:00.000Z")

const fields = (version: string, channel = "stable", required = false) => {
  return { at: NOW, version, channel, notes: `What is new in ${version}.`, required }
}
const published = (...args: Parameters<typeof fields>): ReleaseEvent => {
  return { type: "ReleasePublished", ...fields(...args) }
}
const publish = (...args: Parameters<typeof fields>) => {
  return { type: "PublishRelease", ...fields(...args) } as const
}
const tree = "4b825dc642cb6eb9a060e54bf8d69288fbee4904"
const seal = { type: "SealRelease", at: NOW, version: "2.1.0", tree } as const
const sealed: ReleaseEvent = { ...seal, type: "ReleaseSealed" }

describe("PublishRelease", () => {
  it("publishes a version in a channel, and in another one too", () => {
    given(releasesDecider).when(publish("2.1.0")).records(published("2.1.0"))
    given(releasesDecider, published("2.1.0", "beta"))
      .when(publish("2.1.0"))
      .records(published("2.1.0"))
  })

  it("publishes an older version later", () => {
    given(releasesDecider, published("2.1.0")).when(publish("2.0.9")).records(published("2.0.9"))
  })

  it("records nothing for a published version", () => {
    given(releasesDecider, published("2.1.0")).when(publish("2.1.0")).recordsNothing()
  })

  it("is rejected for a version that is published with other fields", () => {
    for (const other of [
      { ...publish("2.1.0"), notes: "Other." },
      publish("2.1.0", "stable", true),
      publish("2.1.0+rebuilt"),
    ]) {
      given(releasesDecider, published("2.1.0")).when(other).refuses("version_taken")
    }
  })

  it("is rejected for an invalid version", () => {
    given(releasesDecider).when(publish("2.1")).refuses("bad_version")
    given(releasesDecider)
      .when({ ...seal, version: "two" })
      .refuses("bad_version")
  })
})

describe("SealRelease", () => {
  it("records the hash of a version's core once", () => {
    given(releasesDecider).when(seal).records(sealed)
    given(releasesDecider, sealed).when(seal).recordsNothing()
    given(releasesDecider, sealed)
      .when({ ...seal, tree: "f".repeat(40) })
      .refuses("seal_taken")
  })
})

describe("the releases of a channel", () => {
  const state = foldFacts(
    releasesDecider,
    published("2.0.0"),
    published("2.2.0", "stable", true),
    published("2.1.0"),
    published("3.0.0-rc.1", "beta"),
    sealed,
  )
  const after = (version: string, channel = "stable") =>
    updatesAfter(state, channel, parseVersion(version) as SemanticVersion).map((one) => [
      one.version,
      one.from,
      one.required,
    ])

  it("are the newer versions, oldest first, each with its predecessor", () => {
    expect(after("1.0.0")).toEqual([
      ["2.0.0", null, false],
      ["2.1.0", "2.0.0", false],
      ["2.2.0", "2.1.0", true],
    ])
    expect(after("2.0.5")).toEqual([
      ["2.1.0", "2.0.0", false],
      ["2.2.0", "2.1.0", true],
    ])
    expect(after("2.2.0")).toEqual([])
    expect(after("1.0.0", "beta")).toEqual([["3.0.0-rc.1", null, false]])
    expect(after("1.0.0", "nowhere")).toEqual([])
  })

  it("have a latest version, in any order of publication", () => {
    expect(["stable", "beta", "nowhere"].map((channel) => latestVersion(state, channel))).toEqual([
      "2.2.0",
      "3.0.0-rc.1",
      null,
    ])
  })

  it("report whether a core is official, changed or unknown", () => {
    expect(sealStatusOf(state, "2.1.0", tree)).toBe("matches")
    expect(sealStatusOf(state, "2.1.0", tree.toUpperCase())).toBe("matches")
    expect(sealStatusOf(state, "2.1.0", "other")).toBe("changed")
    expect(sealStatusOf(state, "2.1.0", null)).toBe("unknown")
    expect(sealStatusOf(state, "2.0.0", tree)).toBe("unknown")
    expect(RELEASES_STREAM.stream).toBe("releases")
  })
})

const order = (a: string, b: string): number => {
  const [x, y] = [parseVersion(a), parseVersion(b)]
  if (x === null || y === null) throw new Error(`${a} or ${b} is not a version`)
  return Math.sign(compareVersions(x, y))
}

describe("versions", () => {
  it("are ordered by semantic versioning", () => {
    const ordered = [
      "0.0.1-alpha",
      "0.0.1",
      "0.9.0",
      "0.10.0",
      "1.0.0-0",
      "1.0.0-2",
      "1.0.0-10",
      "1.0.0-alpha",
      "1.0.0-alpha.1",
      "1.0.0-alpha.beta",
      "1.0.0-beta",
      "1.0.0-beta.2",
      "1.0.0-beta.11",
      "1.0.0-rc.1",
      "1.0.0",
      "1.0.1",
      "1.1.0",
      "2.0.0",
      "10.0.0",
      "99999999999999999999.0.0",
    ]
    for (const [i, a] of ordered.entries()) {
      for (const [j, b] of ordered.entries())
        expect([a, b, order(a, b)]).toEqual([a, b, Math.sign(i - j)])
    }
  })

  it("are equal if they differ only in build metadata", () => {
    expect(order("1.0.0+linux", "1.0.0+mac.5")).toBe(0)
    expect(order("1.0.0-rc.1+a", "1.0.0-rc.1")).toBe(0)
  })

  it.each([
    "",
    "1",
    "1.0",
    "1.0.0.0",
    "v1.0.0",
    "01.0.0",
    "1.0.0-",
    "1.0.0-01",
    "1.0.0-a..b",
    "1.0.0+",
    "1.0.0 ",
    "a.b.c",
    "1.0.0-ä",
    `1.0.0-${"a".repeat(60)}`,
  ])("cannot be %j", (text) => {
    expect(parseVersion(text)).toBeNull()
  })

  it("have a total order", () => {
    const number = fc.nat(3).map(String)
    const part = fc.oneof(number, fc.constantFrom("a", "b", "a1", "-"))
    const version = fc
      .tuple(number, number, number, fc.array(part, { maxLength: 3 }))
      .map(
        ([a, b, c, before]) => `${a}.${b}.${c}${before.length > 0 ? `-${before.join(".")}` : ""}`,
      )
    fc.assert(
      fc.property(version, version, version, (a, b, c) => {
        expect(order(a, b)).toBe(0 - order(b, a))
        if (order(a, b) === 0) expect(a).toBe(b)
        if (order(a, b) <= 0 && order(b, c) <= 0) expect(order(a, c)).toBeLessThanOrEqual(0)
      }),
    )
  })
})

const EVENING = Date.parse("2026-03-02T23:59:59.999Z")
const installId = "ab".repeat(28)
const counts = appCountsFrom({})

const checkIn = (changed: Partial<CheckIn & DecisionStamp> = {}): CheckIn & DecisionStamp => ({
  type: "CheckIn",
  at: EVENING,
  installId,
  version: "2.1.0",
  platform: "linux",
  coreHash: null,
  counts,
  ...changed,
})
const checkedIn = (changed: Partial<CheckIn & DecisionStamp> = {}): AppEvent => ({
  ...checkIn(changed),
  type: "AppCheckedIn",
})

const report = (
  changed: Partial<ReportDevice & DecisionStamp> = {},
): ReportDevice & DecisionStamp => ({
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
const reported = (changed: Partial<ReportDevice & DecisionStamp> = {}): AppEvent => ({
  ...report(changed),
  type: "DeviceReported",
})

describe("CheckIn", () => {
  it("records an app's check-in", () => {
    given(appDecider).when(checkIn()).records(checkedIn())
  })

  it("records nothing if nothing changed today, and records changes and each new day", () => {
    given(appDecider, checkedIn({ at: EVENING - 1_000 }))
      .when(checkIn())
      .recordsNothing()
    const tomorrow = { at: EVENING + 1 }
    given(appDecider, checkedIn()).when(checkIn(tomorrow)).records(checkedIn(tomorrow))
    for (const changed of [
      { version: "2.2.0" },
      { platform: null },
      { coreHash: "ab" },
      { counts: { ...counts, deals: 0 } },
    ]) {
      given(appDecider, checkedIn()).when(checkIn(changed)).records(checkedIn(changed))
    }
  })

  it("is compared with the last of the day", () => {
    given(appDecider, checkedIn(), checkedIn({ version: "2.2.0" }))
      .when(checkIn())
      .records(checkedIn())
  })
})

describe("ReportDevice", () => {
  it("records the state of an update, in any order of arrival", () => {
    given(appDecider).when(report()).records(reported())
    const late = { eventId: "event-2", sequence: 1 }
    given(appDecider, reported({ sequence: 5 }))
      .when(report(late))
      .records(reported(late))
  })

  it("records nothing for the same report", () => {
    given(appDecider, reported())
      .when(report({ at: EVENING + 5_000 }))
      .recordsNothing()
  })

  it("is rejected for another report with the same event id", () => {
    for (const changed of [
      { attemptId: "attempt-2" },
      { sequence: 2 },
      { kind: "launcher" as const },
      { version: "2.2.0" },
      { status: "failed" as const },
      { reason: "unknown" as const },
    ]) {
      given(appDecider, reported()).when(report(changed)).refuses("event_taken")
    }
  })

  it("remembers the last two thousand reports", () => {
    const many = Array.from({ length: 2_001 }, (_, i) => reported({ eventId: `event-${i + 1}` }))
    given(appDecider, ...many.slice(0, 2_000))
      .when(report())
      .recordsNothing()
    given(appDecider, ...many)
      .when(report())
      .records(reported())
    given(appDecider, ...many)
      .when(report({ eventId: "event-2" }))
      .recordsNothing()
  })
})

describe("an installed app", () => {
  it("has an estimate of its memory", () => {
    const many = Array.from({ length: 1_000 }, (_, i) => reported({ eventId: `event-${i}` }))
    const state = foldFacts(appDecider, checkedIn(), ...many)
    const written = serialize(state).length
    expect(appBytes(state)).toBeGreaterThan(written / 2)
    expect(appBytes(state)).toBeLessThan(written * 6)
  })

  it("has its own stream", () => {
    expect(appStreamOf("co_1", "ab12").stream).toBe("app-co_1-ab12")
  })
})
