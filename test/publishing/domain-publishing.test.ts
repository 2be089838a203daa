/** The rules of publishes. */
import fc from "fast-check"
import { describe, expect, it } from "vitest"
import type { PublishId } from "../../domain/publishing/ids.ts"
import type { PublishCommand } from "../../domain/publishing/publish-commands.ts"
import { removablePublishes, needsAppHost } from "../../domain/publishing/publishing.ts"
import {
  isPublishingEnabled,
  publishingSwitchesDecider,
} from "../../domain/publishing/publishing-switches.ts"
import { deciderSession } from "../support/decider-spec.ts"
import {
  failPublishCommand,
  publishingUnderTest,
  publishCommand,
  queuePublishCommand,
  storeArtifactCommand,
  commandsBeforeLive,
} from "./publish-commands.ts"

const NOW = Date.UTC(2026, 10, 24, 10)
const DAY_MS = 86_400_000

const goLive = (publishId: PublishId): PublishCommand => ({ type: "GoLive", publishId })

/** A company with queued publishes; `build` takes one up to its artifact. */
function queued(...ids: readonly PublishId[]) {
  const one = publishingUnderTest()
  for (const id of ids) one.ask(queuePublishCommand(id), NOW)
  const build = (id: PublishId) =>
    commandsBeforeLive(id).forEach((command) => one.ask(command, NOW))
  return { ...one, build }
}

describe("a publish", () => {
  it("goes from queued to building, uploading and live, and is replaced by the next", () => {
    const one = queued("pub_1")
    const steps = [...commandsBeforeLive("pub_1"), goLive("pub_1")].map((command) => {
      one.ask(command, NOW)
      return one.view("pub_1")?.status
    })
    expect(steps).toEqual(["building", "uploading", "uploading", "live"])
    expect(one.live()).toEqual({ publishId: "pub_1", kind: "static" })
    one.ask(queuePublishCommand("pub_2"), NOW)
    commandsBeforeLive("pub_2").forEach((command) => one.ask(command, NOW))
    expect(one.ask(goLive("pub_2"), NOW)).toEqual([
      { type: "PublishLive", at: NOW, publishId: "pub_2" },
      { type: "PublishReplaced", at: NOW, publishId: "pub_1", by: "pub_2", wasLive: true },
    ])
  })

  it("never goes live over a later one, and is not built once a later one is live", () => {
    const one = queued("pub_1", "pub_2", "pub_3")
    one.build("pub_1")
    one.build("pub_3")
    const facts = one.ask(goLive("pub_3"), NOW)
    const overtaken = { type: "PublishReplaced", by: "pub_3", wasLive: false }
    expect(facts).toMatchObject([
      { type: "PublishLive", publishId: "pub_3" },
      { ...overtaken, publishId: "pub_1" },
      { ...overtaken, publishId: "pub_2" },
    ])
    expect(one.ask(goLive("pub_1"), NOW)).toBe("has_ended")
    expect(one.ask({ type: "StartBuild", publishId: "pub_2" }, NOW)).toEqual([])
    expect(one.live()?.publishId).toBe("pub_3")
  })

  it("that is live can no longer fail", () => {
    const one = queued("pub_1")
    one.build("pub_1")
    one.ask(goLive("pub_1"), NOW)
    expect(one.ask(failPublishCommand("pub_1"), NOW)).toEqual([])
    expect(one.view("pub_1")).toMatchObject({ wasLive: true, status: "live" })
  })

  it("that failed is retried as the newest without a charge, and goes live over later ones", () => {
    const one = queued("pub_1", "pub_2")
    one.ask(failPublishCommand("pub_1"), NOW)
    expect(one.ask(failPublishCommand("pub_1"), NOW)).toEqual([])
    one.build("pub_2")
    one.ask(goLive("pub_2"), NOW)
    expect(one.ask({ type: "RetryPublish", publishId: "pub_2" }, NOW)).toBe("not_failed")
    expect(one.ask({ type: "RetryPublish", publishId: "pub_1" }, NOW)).toHaveLength(1)
    expect(one.ask({ type: "RetryPublish", publishId: "pub_1" }, NOW)).toEqual([])
    one.build("pub_1")
    expect(one.ask(goLive("pub_1"), NOW)).toHaveLength(2)
    expect(one.view("pub_1")).toMatchObject({ isFree: true, status: "live" })
  })

  it("cannot go live before it is built, and takes no commands once it is abandoned", () => {
    const one = queued("pub_1")
    expect(one.ask(goLive("pub_1"), NOW)).toBe("not_built")
    expect(one.ask({ type: "AbandonPublish", publishId: "pub_1" }, NOW)).toEqual([])
    expect(one.ask({ type: "AbandonPublish", publishId: "pub_9" }, NOW)).toHaveLength(1)
    expect(one.ask(queuePublishCommand("pub_9"), NOW)).toBe("no_publish")
    expect(one.ask(goLive("pub_9"), NOW)).toBe("no_publish")
  })

  it("is known for a week after its end, and as long as it is live", () => {
    const one = queued("pub_1", "pub_2")
    one.build("pub_1")
    one.ask(goLive("pub_1"), NOW)
    one.ask(failPublishCommand("pub_2"), NOW)
    one.ask(queuePublishCommand("pub_3"), NOW + 7 * DAY_MS)
    expect(one.view("pub_2")?.status).toBe("failed")
    one.ask(queuePublishCommand("pub_4"), NOW + 7 * DAY_MS + 1)
    expect(one.view("pub_2")).toBeNull()
    expect(one.view("pub_1")?.status).toBe("live")
  })
})

describe("an artifact", () => {
  it("is kept for the live publish, the one before, and those that have not ended", () => {
    const one = queued("pub_1", "pub_2", "pub_3", "pub_4")
    for (const id of ["pub_1", "pub_2", "pub_3"] as const) {
      one.build(id)
      one.ask(goLive(id), NOW)
    }
    one.ask(storeArtifactCommand("pub_4", "app"), NOW)
    expect(removablePublishes(one.state())).toEqual(["pub_1"])
    expect(needsAppHost(one.state())).toBe(true)
    expect(one.ask({ type: "RemoveArtifact", publishId: "pub_2" }, NOW)).toBe("is_served")
    expect(one.ask({ type: "RemoveArtifact", publishId: "pub_4" }, NOW)).toBe("is_served")
    expect(one.ask({ type: "RemoveArtifact", publishId: "pub_1" }, NOW)).toHaveLength(1)
    expect(one.ask({ type: "RemoveArtifact", publishId: "pub_1" }, NOW)).toEqual([])
    one.ask(failPublishCommand("pub_4"), NOW)
    expect(needsAppHost(one.state())).toBe(false)
  })
})

describe("publishes after any commands", () => {
  const commands = fc.array(publishCommand, { minLength: 30, maxLength: 60 })

  it("have at most one live, which went live last, and each ends once unless it is retried", () => {
    let wentLive = 0
    const rule = fc.property(commands, (all) => {
      const one = publishingUnderTest()
      const orders = new Map<PublishId, number>()
      let last = 0
      for (const [i, command] of all.entries()) {
        for (const fact of one.ask(command, NOW + i)) {
          if (typeof fact === "string") continue
          if (fact.type === "PublishQueued" || fact.type === "PublishRetried") {
            orders.set(fact.publishId, orders.size + i)
          }
          if (fact.type !== "PublishLive") continue
          wentLive += 1
          const order = orders.get(fact.publishId) ?? -1
          expect(order).toBeGreaterThan(last - 1)
          last = order
        }
      }
      const ends = one.facts.filter(
        ({ type }) => type === "PublishLive" || type === "PublishFailed",
      )
      const again = one.facts.filter(({ type }) => type === "PublishRetried")
      const ids = new Set(
        one.facts.flatMap((fact) => ("publishId" in fact ? [fact.publishId] : [])),
      )
      expect(ends.length).toBeLessThanOrEqual(ids.size + again.length)
      const live = [...ids].filter((id) => one.view(id)?.status === "live")
      expect(live).toEqual(one.live() === null ? [] : [one.live()?.publishId])
    })
    fc.assert(rule, { numRuns: 400 })
    expect(wentLive).toBeGreaterThan(50)
  })
})

describe("publishing", () => {
  it("can be switched off for all companies and for a single one, independently", () => {
    const { ask, state } = deciderSession(publishingSwitchesDecider)
    const turn = (companyId: "co_a" | null, isOn: boolean) =>
      ask({ type: "SwitchPublishing", companyId, isOn }, NOW).length
    const isEnabled = () => [
      isPublishingEnabled("co_a")(state()),
      isPublishingEnabled("co_b")(state()),
    ]
    expect(turn("co_a", true)).toBe(0)
    expect(turn("co_a", false)).toBe(1)
    expect(isEnabled()).toEqual([false, true])
    expect(turn(null, false)).toBe(1)
    expect(turn("co_a", true)).toBe(1)
    expect(isEnabled()).toEqual([false, false])
    expect(turn(null, true)).toBe(1)
    expect(turn(null, true)).toBe(0)
    expect(isEnabled()).toEqual([true, true])
  })
})
