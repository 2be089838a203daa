/** The rules of forms and leads. */
import fc from "fast-check"
import { describe, expect, it } from "vitest"
import type { LeadId, LeadEvent } from "../../domain/leads/lead-events.ts"
import type { LeadCommand } from "../../domain/leads/leads.ts"
import {
  MAX_LEADS_PER_DAY,
  MAX_LEADS_PER_MINUTE,
  MAX_UNCOLLECTED_LEADS,
  DUPLICATE_LEAD_WINDOW_MS,
  leadsDecider,
} from "../../domain/leads/leads.ts"
import { deciderSession } from "../support/decider-spec.ts"
import { leadCommand, openFormCommand, receiveLeadCommand } from "./lead-commands.ts"

const NOW = Date.UTC(2026, 4, 4, 10)
const MINUTE = 60_000
const DAY = 86_400_000

/** A company's leads, to be asked one command after the other. */
function company() {
  const { ask: asked, state } = deciderSession(leadsDecider)
  const ask = (command: LeadCommand, at = NOW) => asked(command, at)
  ask(openFormCommand())
  return { ask, state }
}

/** How many leads were taken of so many that are sent, each a step later than the one before. */
function taken(ask: ReturnType<typeof company>["ask"], count: number, from: number, step: number) {
  let some = 0
  for (let i = 0; i < count; i += 1) {
    const at = from + i * step
    const answer = ask(receiveLeadCommand(`lead_${at}_${i}`), at)
    if (answer !== "minute_full" && answer !== "day_full") some += answer.length
  }
  return some
}

describe("a form", () => {
  it("takes leads from when it is opened until it is closed, and is opened once", () => {
    const { ask } = company()
    expect(ask(openFormCommand())).toEqual([])
    expect(ask(receiveLeadCommand("lead_1", "lead_0", "form_2"))).toBe("no_form")
    expect(ask(receiveLeadCommand("lead_1"))).toMatchObject([
      { type: "LeadReceived", leadId: "lead_1" },
    ])
    expect(ask({ type: "CloseLeadForm", formId: "form_2" })).toBe("no_form")
    expect(ask({ type: "CloseLeadForm", formId: "form_1" })).toHaveLength(1)
    expect(ask({ type: "CloseLeadForm", formId: "form_1" })).toEqual([])
    expect(ask(openFormCommand())).toEqual([])
    expect(ask(receiveLeadCommand("lead_2"))).toBe("no_form")
  })

  it("takes sixty a minute, each form its own", () => {
    const { ask } = company()
    ask(openFormCommand("form_2"))
    expect(taken(ask, MAX_LEADS_PER_MINUTE + 5, NOW, 1)).toBe(60)
    expect(ask(receiveLeadCommand("lead_x", "lead_0", "form_2"), NOW + 100)).toHaveLength(1)
    expect(ask(receiveLeadCommand("lead_y"), NOW + MINUTE - 1)).toBe("minute_full")
    expect(ask(receiveLeadCommand("lead_y"), NOW + MINUTE)).toHaveLength(1)
  })

  it("takes as many as come where rate limits are off", () => {
    const { ask } = company()
    const unlimited = (i: number) => ({ ...receiveLeadCommand(`lead_${i}`), isLimited: false })
    const answers = Array.from({ length: MAX_LEADS_PER_MINUTE + 5 }, (_none, i) =>
      ask(unlimited(i), NOW),
    )
    expect(answers.filter((answer) => answer.length === 1)).toHaveLength(MAX_LEADS_PER_MINUTE + 5)
    expect(ask(receiveLeadCommand("lead_limited"), NOW)).toBe("minute_full")
  })

  it("takes two thousand on a day in UTC", () => {
    const { ask } = company()
    const midnight = Date.UTC(2026, 4, 5)
    expect(taken(ask, MAX_LEADS_PER_DAY + 9, midnight - DAY, 2_000)).toBe(2_000)
    expect(ask(receiveLeadCommand("lead_y"), midnight - 1)).toBe("day_full")
    expect(ask(receiveLeadCommand("lead_y"), midnight)).toHaveLength(1)
  })

  it("takes none while a hundred thousand wait, and one when one was collected", () => {
    const one = company()
    const waiting = Array.from(
      { length: MAX_UNCOLLECTED_LEADS },
      (_none, i): LeadId => `lead_w${i}`,
    )
    Object.assign(one.state(), { uncollected: new Set(waiting) })
    expect(one.ask(receiveLeadCommand("lead_1"))).toBe("too_many_uncollected")
    one.ask({ type: "CollectLeads", leadIds: ["lead_w7"] })
    expect(one.ask(receiveLeadCommand("lead_1"))).toHaveLength(1)
    expect(one.ask(receiveLeadCommand("lead_2"))).toBe("too_many_uncollected")
  })
})

describe("the same lead again", () => {
  it.each([
    ["at once", "lead_1", 0, 0],
    ["over the minute's end", "lead_2", DUPLICATE_LEAD_WINDOW_MS - 1, 0],
    ["a minute later", "lead_2", DUPLICATE_LEAD_WINDOW_MS, 1],
    ["by a name that waited for its turn", "lead_1", DUPLICATE_LEAD_WINDOW_MS + 5_000, 0],
  ] as const)("%s", (_when, leadId, later, count) => {
    const { ask } = company()
    ask(receiveLeadCommand("lead_1"))
    ask({ type: "CollectLeads", leadIds: ["lead_1"] })
    const answer = ask(receiveLeadCommand(leadId, "lead_1"), NOW + later)
    expect(answer).toHaveLength(count)
  })

  it("is told yes though the form is full by now, and no once it is closed", () => {
    const { ask } = company()
    taken(ask, MAX_LEADS_PER_MINUTE - 1, NOW, 1)
    ask(receiveLeadCommand("lead_last"), NOW + 200)
    expect(ask(receiveLeadCommand("lead_last"), NOW + 300)).toEqual([])
    expect(ask(receiveLeadCommand("lead_other"), NOW + 300)).toBe("minute_full")
    ask({ type: "CloseLeadForm", formId: "form_1" }, NOW + 400)
    expect(ask(receiveLeadCommand("lead_last"), NOW + 500)).toBe("no_form")
  })
})

/** Plays commands, each up to some seconds behind the one before. */
const plays = fc.array(fc.tuple(leadCommand, fc.nat(40_000)), { maxLength: 60, size: "max" })

function played(given: readonly (readonly [LeadCommand, number])[]): readonly LeadEvent[] {
  const { ask } = company()
  let at = NOW
  return given.flatMap(([command, later]) => {
    at += later
    const answer = ask(command, at)
    return typeof answer === "string" ? [] : answer
  })
}

describe("whatever is asked, in any order", () => {
  it("a lead is collected once, after it came and never after it was erased", () => {
    fc.assert(
      fc.property(plays, (given) => {
        const waiting = new Set<LeadId>()
        for (const fact of played(given)) {
          if (fact.type === "LeadReceived") waiting.add(fact.leadId)
          if (fact.type === "LeadErased") waiting.delete(fact.leadId)
          if (fact.type !== "LeadsCollected") continue
          expect(fact.leadIds.length).toBeGreaterThan(0)
          for (const id of fact.leadIds) expect(waiting.delete(id)).toBe(true)
        }
      }),
    )
  })

  it("no id is given twice within the time that its name can wait, nor while it is not collected", () => {
    fc.assert(
      fc.property(plays, (given) => {
        const came = new Map<LeadId, number>()
        for (const fact of played(given)) {
          if (fact.type !== "LeadReceived") continue
          expect(fact.at - (came.get(fact.leadId) ?? -Infinity)).toBeGreaterThanOrEqual(3 * MINUTE)
          came.set(fact.leadId, fact.at)
        }
      }),
    )
  })
})
