import { RELEASES } from "../../domain/connection/aggregates.ts"
import { describe, expect, it } from "vitest"
import type { ReleaseEvent } from "../../domain/connection/releases.ts"
import {
  latestVersion,
  releases,
  sealStanding,
  updatesAfter,
} from "../../domain/connection/releases.ts"
import type { Version } from "../../domain/connection/versions.ts"
import { versionOf } from "../../domain/connection/versions.ts"
import { fold, given } from "../support/spec.ts"

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
    given(releases).when(publish("2.1.0")).records(published("2.1.0"))
    given(releases, published("2.1.0", "beta")).when(publish("2.1.0")).records(published("2.1.0"))
  })

  it("publishes an older version later", () => {
    given(releases, published("2.1.0")).when(publish("2.0.9")).records(published("2.0.9"))
  })

  it("records nothing for what is published already", () => {
    given(releases, published("2.1.0")).when(publish("2.1.0")).recordsNothing()
  })

  it("is refused a version that is published with other words", () => {
    for (const other of [
      { ...publish("2.1.0"), notes: "Other." },
      publish("2.1.0", "stable", true),
      publish("2.1.0+rebuilt"),
    ]) {
      given(releases, published("2.1.0")).when(other).refuses("version_taken")
    }
  })

  it("is refused what is no version", () => {
    given(releases).when(publish("2.1")).refuses("bad_version")
    given(releases)
      .when({ ...seal, version: "two" })
      .refuses("bad_version")
  })
})

describe("SealRelease", () => {
  it("says what a version's core is known by, once", () => {
    given(releases).when(seal).records(sealed)
    given(releases, sealed).when(seal).recordsNothing()
    given(releases, sealed)
      .when({ ...seal, tree: "f".repeat(40) })
      .refuses("seal_taken")
  })
})

describe("the releases of a channel", () => {
  const state = fold(
    releases,
    published("2.0.0"),
    published("2.2.0", "stable", true),
    published("2.1.0"),
    published("3.0.0-rc.1", "beta"),
    sealed,
  )
  const after = (version: string, channel = "stable") =>
    updatesAfter(state, channel, versionOf(version) as Version).map((one) => [
      one.version,
      one.from,
      one.required,
    ])

  it("are those newer than a version, the oldest first, each with the one before it", () => {
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

  it("have a newest one, whatever came last", () => {
    expect(["stable", "beta", "nowhere"].map((channel) => latestVersion(state, channel))).toEqual([
      "2.2.0",
      "3.0.0-rc.1",
      null,
    ])
  })

  it("tell an official core from a changed one, and say where they do not know", () => {
    expect(sealStanding(state, "2.1.0", tree)).toBe("matches")
    expect(sealStanding(state, "2.1.0", tree.toUpperCase())).toBe("matches")
    expect(sealStanding(state, "2.1.0", "other")).toBe("changed")
    expect(sealStanding(state, "2.1.0", null)).toBe("unknown")
    expect(sealStanding(state, "2.0.0", tree)).toBe("unknown")
    expect(RELEASES.stream).toBe("releases")
  })
})
