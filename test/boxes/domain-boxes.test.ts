/** The rules of a box and of its company's slots. */
import fc from "fast-check"
import { describe, expect, it } from "vitest"
import type { BoxCommand } from "../../domain/boxes/box-commands.ts"
import { BOX_SLOTS_AGGREGATE } from "../../domain/boxes/aggregates.ts"
import { MAX_BOX_PREVIEWS } from "../../domain/boxes/box-commands.ts"
import { BOX_MINUTE_MS, latestStopAt } from "../../domain/boxes/box.ts"
import type { BoxId } from "../../domain/boxes/ids.ts"
import type { SlotCommand } from "../../domain/kernel/slots.ts"
import { slotHoldersOf } from "../../domain/kernel/slots.ts"
import { deciderSession } from "../support/decider-spec.ts"
import {
  BOX_ID,
  STOP_BOX_COMMAND,
  BOX_ACTOR,
  boxUnderTest,
  openPreviewCommand,
  startBoxCommand,
  tickBoxCommand,
} from "./box-commands.ts"

const NOW = Date.UTC(2026, 10, 23, 10)
const RUN: BoxCommand = { type: "MarkBoxRunning", boxId: BOX_ID, commit: null, host: "here" }
const FAIL: BoxCommand = { type: "FailBox", boxId: BOX_ID, reason: "clone_failed" }

/** A box that has been running since `NOW`. */
function running(options: Parameters<typeof startBoxCommand>[0] = {}) {
  const one = boxUnderTest()
  one.ask(startBoxCommand(options), NOW - 5_000)
  one.ask(RUN, NOW)
  return one
}

/** Ticks at each full minute, until the box stops or `most` ticks were sent. */
function tickOn(
  one: ReturnType<typeof boxUnderTest>,
  most: number,
  activities = (_n: number) => 0,
) {
  for (let n = 2; n <= most + 1 && one.view()?.status === "running"; n += 1) {
    one.ask(tickBoxCommand(n, activities(n)), NOW + (n - 1) * BOX_MINUTE_MS + 1)
  }
}

describe("a box's minutes", () => {
  it("are one at 60.000 seconds and two a millisecond later", () => {
    const one = running()
    expect(one.ask(tickBoxCommand(2), NOW + 60_000)).toEqual([])
    expect(one.view()?.minutes).toBe(1)
    expect(one.view()?.next).toEqual({ minute: 2, dueAt: NOW + 60_001 })
    expect(one.ask(tickBoxCommand(2), NOW + 60_001)).toMatchObject([{ minute: 2 }])
    expect(one.view()?.minutes).toBe(2)
  })

  it("begin once each and in order, even if a tick is repeated or early", () => {
    const one = running()
    expect(one.ask(tickBoxCommand(3), NOW + 10 * BOX_MINUTE_MS)).toEqual([])
    expect(one.ask(tickBoxCommand(2), NOW + 10 * BOX_MINUTE_MS)).toHaveLength(1)
    expect(one.ask(tickBoxCommand(2), NOW + 10 * BOX_MINUTE_MS)).toEqual([])
    expect(one.ask(tickBoxCommand(3), NOW + 10 * BOX_MINUTE_MS)).toHaveLength(1)
  })

  it("end at the cap; a cap of one minute is one charge", () => {
    const one = running({ maxMinutes: 1 })
    expect(one.ask(tickBoxCommand(2, 5), NOW + 60_001)).toMatchObject([{ reason: "time_cap" }])
    expect(one.view()).toMatchObject({ status: "stopped", minutes: 1 })
  })

  it.each([
    [60, 20_000, 5, "budget"],
    [60, 23_999, 5, "budget"],
    [5, 20_000, 5, "time_cap"],
    [4, 20_000, 4, "time_cap"],
    [3, null, 3, "time_cap"],
  ])("of a cap of %d and a budget of %s are %d: %s", (maxMinutes, budgetMicros, count, reason) => {
    const options = { maxMinutes, budgetMicros }
    const one = running({ ...options, idleMinutes: 60 })
    tickOn(one, 100)
    const last = NOW + count * BOX_MINUTE_MS
    expect(one.view()).toMatchObject({ minutes: count, reason, stoppedAt: last })
    expect(latestStopAt(NOW - 5_000, NOW, startBoxCommand(options))).toBe(last)
  })

  it("are not limited by a budget if they cost nothing", () => {
    const one = running({ budgetMicros: 10_000, unitPriceMicros: 0, maxMinutes: 7 })
    tickOn(one, 100)
    expect(one.view()).toMatchObject({ minutes: 7, reason: "time_cap" })
  })

  it("end after the idle time, by the box's clock, even if ticks come late", () => {
    const late = running({ idleMinutes: 5 })
    for (let n = 2; n < 20; n += 1) late.ask(tickBoxCommand(n), NOW + 300 * BOX_MINUTE_MS)
    expect(late.view()).toMatchObject({ minutes: 5, reason: "idle" })
  })

  it("continue while there is activity or a command runs, and end one idle time after the last", () => {
    const one = running({ idleMinutes: 5 })
    tickOn(one, 100, (n) => Math.min(n, 10))
    // The last activity was seen at the end of minute 9.
    expect(one.view()).toMatchObject({ minutes: 14, reason: "idle" })
    const busy = running({ idleMinutes: 5, maxMinutes: 30 })
    for (let n = 2; busy.view()?.status === "running"; n += 1) {
      busy.ask(tickBoxCommand(n, 0, { isBusy: true }), NOW + (n - 1) * BOX_MINUTE_MS + 1)
    }
    expect(busy.view()).toMatchObject({ minutes: 30, reason: "time_cap" })
  })

  it("end when the key may no longer start boxes, with lower priority than cap and idle time", () => {
    const one = running()
    const noKey = { isKeyUsable: false }
    expect(one.ask(tickBoxCommand(2, 0, noKey), NOW + 60_001)).toMatchObject([
      { reason: "key_changed" },
    ])
    const capped = running({ maxMinutes: 1 })
    expect(capped.ask(tickBoxCommand(2, 0, noKey), NOW + 60_001)).toMatchObject([
      { reason: "time_cap" },
    ])
  })

  it("never begin after the end, and never record fewer activities than before", () => {
    const one = running()
    one.ask(tickBoxCommand(2, 9), NOW + 60_001)
    expect(one.ask(tickBoxCommand(3, 4), NOW + 120_001)).toMatchObject([{ activities: 9 }])
    one.ask(STOP_BOX_COMMAND, NOW + 130_000)
    expect(one.ask(tickBoxCommand(4), NOW + 999_999)).toEqual([])
    expect(one.view()).toMatchObject({ minutes: 3, next: null })
  })
})

describe("a minute that the ledger refused", () => {
  const refuse = (minute: number): BoxCommand => {
    return { type: "RefuseMinute", boxId: BOX_ID, minute, reason: "spending_limit" }
  }

  it("ends the box, and is refused once", () => {
    const one = running()
    one.ask(tickBoxCommand(2), NOW + 60_001)
    const types = ["BoxMinuteRefused", "BoxStopped"]
    expect(one.ask(refuse(2), NOW + 60_002)).toMatchObject(types.map((type) => ({ type })))
    expect(one.view()).toMatchObject({ reason: "spending_limit", minutes: 2, isLastRefused: true })
    expect(one.ask(refuse(2), NOW + 60_003)).toEqual([])
  })

  it("is refused although the box was stopped first, and the reason of the stop stays", () => {
    const one = running()
    one.ask(tickBoxCommand(2), NOW + 60_001)
    one.ask(STOP_BOX_COMMAND, NOW + 60_002)
    expect(one.ask(refuse(2), NOW + 60_003)).toMatchObject([{ type: "BoxMinuteRefused" }])
    expect(one.view()).toMatchObject({ reason: "stopped", isLastRefused: true })
  })

  it("can only be the last that began, and never the first", () => {
    const one = running()
    expect(one.ask(refuse(1), NOW)).toEqual([])
    expect(one.ask(refuse(2), NOW)).toEqual([])
  })
})

describe("a box", () => {
  it("is started once, runs or fails once, and ends once", () => {
    const one = boxUnderTest()
    expect(one.ask(RUN, NOW)).toBe("no_box")
    expect(one.ask(startBoxCommand(), NOW)).toHaveLength(1)
    expect(one.ask(startBoxCommand({ size: "large" }), NOW)).toEqual([])
    expect(one.ask(openPreviewCommand(3_000), NOW)).toBe("box_starting")
    expect(one.ask(RUN, NOW)).toHaveLength(1)
    expect(one.ask(RUN, NOW)).toEqual([])
    expect(one.ask(FAIL, NOW)).toBe("box_runs")
    expect(one.ask(STOP_BOX_COMMAND, NOW)).toHaveLength(1)
    expect(one.ask(STOP_BOX_COMMAND, NOW)).toEqual([])
    expect(one.ask(RUN, NOW)).toBe("box_stopped")
    expect(one.ask(openPreviewCommand(3_000), NOW)).toBe("box_stopped")
  })

  it("that is abandoned never starts, and one that has started cannot be abandoned", () => {
    const abandon: BoxCommand = { type: "AbandonBox", boxId: BOX_ID }
    const one = boxUnderTest()
    expect(one.ask(abandon, NOW)).toHaveLength(1)
    expect(one.ask(abandon, NOW)).toEqual([])
    expect(one.ask(startBoxCommand(), NOW)).toBe("no_box")
    expect(one.view()).toBeNull()
    const started = running()
    expect(started.ask(abandon, NOW)).toEqual([])
    expect(started.view()?.status).toBe("running")
  })

  it("that failed stays failed, and one that was stopped during its start never runs", () => {
    const failed = boxUnderTest()
    failed.ask(startBoxCommand(), NOW)
    expect(failed.ask(FAIL, NOW)).toHaveLength(1)
    expect(failed.ask(FAIL, NOW)).toEqual([])
    expect(failed.ask(STOP_BOX_COMMAND, NOW)).toEqual([])
    expect(failed.view()).toMatchObject({ status: "failed", reason: "clone_failed" })
    const stopped = boxUnderTest()
    stopped.ask(startBoxCommand(), NOW)
    stopped.ask(STOP_BOX_COMMAND, NOW)
    expect(stopped.ask(RUN, NOW)).toBe("box_stopped")
    expect(stopped.ask(FAIL, NOW)).toBe("box_runs")
  })

  it("keeps a port's link while it is open, and has at most sixteen links", () => {
    const one = running()
    for (let i = 0; i < MAX_BOX_PREVIEWS; i += 1) {
      expect(one.ask(openPreviewCommand(3_000 + i), NOW)).toHaveLength(1)
    }
    expect(one.ask(openPreviewCommand(3_000), NOW)).toEqual([])
    expect(one.ask(openPreviewCommand(4_000), NOW)).toBe("too_many_previews")
    const close: BoxCommand = { type: "ClosePreview", boxId: BOX_ID, port: 3_000, ...BOX_ACTOR }
    expect(one.ask(close, NOW)).toHaveLength(1)
    expect(one.ask(close, NOW)).toEqual([])
    expect(one.ask(openPreviewCommand(4_000), NOW)).toHaveLength(1)
    one.ask(STOP_BOX_COMMAND, NOW)
    expect(one.view()?.previews).toEqual([])
  })

  it("is deleted once, after it has ended", () => {
    const remove: BoxCommand = { type: "DeleteBox", boxId: BOX_ID, ...BOX_ACTOR }
    const one = running()
    expect(one.ask(remove, NOW)).toBe("box_runs")
    one.ask(STOP_BOX_COMMAND, NOW)
    expect(one.ask(remove, NOW)).toHaveLength(1)
    expect(one.ask(remove, NOW)).toEqual([])
  })

  it("counts exactly the minutes that it ran, in any order of ticks and a stop", () => {
    const steps = fc.array(fc.nat(100_000), { maxLength: 40 })
    fc.assert(
      fc.property(steps, fc.nat(2_000_000), (gaps, stopAfter) => {
        const one = running({ idleMinutes: 60, maxMinutes: 720 })
        let at = NOW
        for (const gap of gaps) {
          at += gap
          if (at >= NOW + stopAfter) break
          // Late ticks begin the missed minutes one by one.
          for (;;) {
            const answer = one.ask(tickBoxCommand((one.view()?.minutes ?? 0) + 1, 1), at)
            if (answer.length === 0) break
          }
          const ranMs = at - NOW
          expect(one.view()?.minutes).toBe(Math.max(1, Math.ceil(ranMs / BOX_MINUTE_MS)))
        }
        const before = one.view()?.minutes
        one.ask(STOP_BOX_COMMAND, NOW + stopAfter)
        expect(one.ask(tickBoxCommand((before ?? 0) + 1, 9), NOW + stopAfter + 9_000_000)).toEqual(
          [],
        )
      }),
    )
  })
})

describe("the slots of a company", () => {
  const reserve = (holderId: BoxId, maxSlots: number): SlotCommand<BoxId> => {
    return { type: "ReserveSlot", holderId, maxSlots, caller: null }
  }
  const decided = (commands: readonly SlotCommand<BoxId>[]) => {
    const { ask, state } = deciderSession(BOX_SLOTS_AGGREGATE.decider)
    const answers = commands.map((command) => ask(command, NOW))
    const codes = answers.map((answer) => (typeof answer === "string" ? answer : answer.length))
    return { codes, state: state() }
  }

  it("are as many as the plan has, and a box has one", () => {
    const release = { type: "ReleaseSlot", holderId: "box_1" } as const
    const reservations = [
      reserve("box_1", 2),
      reserve("box_1", 2),
      reserve("box_2", 2),
      reserve("box_3", 2),
    ]
    const { codes, state } = decided([...reservations, release, release, reserve("box_3", 2)])
    expect(codes).toEqual([1, 0, 1, "company_limit", 1, 0, 1])
    expect(slotHoldersOf(state)).toEqual(["box_2", "box_3"])
  })

  it("stay reserved when a plan gets smaller, and none is added", () => {
    const { codes } = decided([
      reserve("box_1", 2),
      reserve("box_2", 2),
      reserve("box_1", 1),
      reserve("box_3", 1),
    ])
    expect(codes).toEqual([1, 1, 0, "company_limit"])
  })
})
