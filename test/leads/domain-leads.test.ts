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

/** A company's leads with one open form; `ask` executes a command. */
function company() {
  const { ask: execute, state } = deciderSession(leadsDecider)
  const ask = (command: LeadCommand, at = NOW) => execute(command, at)
  ask(openFormCommand())
  return { ask, state }
}

/** Sends leads, each one step later than the previous; returns how many were accepted. */
function countAccepted(
  ask: ReturnType<typeof company>["ask"],
  count: number,
  from: number,
  step: number,
) {
  let accepted = 0
  for (let i = 0; i < count; i += 1) {
    const at = from + i * step
    const answer = ask(receiveLeadCommand(`lead_${at}_${i}`), at)
    if (answer !== "minute_full" && answer !== "day_full") accepted += answer.length
  }
  return accepted
}

describe("a form", () => {
  it("accepts leads until it is closed, and cannot be opened again", () => {
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

  it("accepts sixty leads a minute, counted per form", () => {
    const { ask } = company()
    ask(openFormCommand("form_2"))
    expect(countAccepted(ask, MAX_LEADS_PER_MINUTE + 5, NOW, 1)).toBe(60)
    expect(ask(receiveLeadCommand("lead_x", "lead_0", "form_2"), NOW + 100)).toHaveLength(1)
    expect(ask(receiveLeadCommand("lead_y"), NOW + MINUTE - 1)).toBe("minute_full")
    expect(ask(receiveLeadCommand("lead_y"), NOW + MINUTE)).toHaveLength(1)
  })

  it("accepts any number of leads if rate limits are off", () => {
    const { ask } = company()
    const unlimited = (i: number) => ({ ...receiveLeadCommand(`lead_${i}`), isLimited: false })
    const answers = Array.from({ length: MAX_LEADS_PER_MINUTE + 5 }, (_none, i) =>
      ask(unlimited(i), NOW),
    )
    expect(answers.filter((answer) => answer.length === 1)).toHaveLength(MAX_LEADS_PER_MINUTE + 5)
    expect(ask(receiveLeadCommand("lead_limited"), NOW)).toBe("minute_full")
  })

  it("accepts two thousand leads per UTC day", () => {
    const { ask } = company()
    const midnight = Date.UTC(2026, 4, 5)
    expect(countAccepted(ask, MAX_LEADS_PER_DAY + 9, midnight - DAY, 2_000)).toBe(2_000)
    expect(ask(receiveLeadCommand("lead_y"), midnight - 1)).toBe("day_full")
    expect(ask(receiveLeadCommand("lead_y"), midnight)).toHaveLength(1)
  })

  it("accepts no lead while a hundred thousand are uncollected, and one more after one is collected", () => {
    const leads = company()
    const waiting = Array.from(
      { length: MAX_UNCOLLECTED_LEADS },
      (_none, i): LeadId => `lead_w${i}`,
    )
    Object.assign(leads.state(), { uncollected: new Set(waiting) })
    expect(leads.ask(receiveLeadCommand("lead_1"))).toBe("too_many_uncollected")
    leads.ask({ type: "CollectLeads", leadIds: ["lead_w7"] })
    expect(leads.ask(receiveLeadCommand("lead_1"))).toHaveLength(1)
    expect(leads.ask(receiveLeadCommand("lead_2"))).toBe("too_many_uncollected")
  })
})

describe("a duplicate lead", () => {
  it.each([
    ["is dropped immediately after the first", "lead_1", 0, 0],
    ["is dropped across the end of a minute", "lead_2", DUPLICATE_LEAD_WINDOW_MS - 1, 0],
    ["is accepted a minute later", "lead_2", DUPLICATE_LEAD_WINDOW_MS, 1],
    [
      "is dropped if it has the same id, however late",
      "lead_1",
      DUPLICATE_LEAD_WINDOW_MS + 5_000,
      0,
    ],
  ] as const)("%s", (_title, leadId, later, count) => {
    const { ask } = company()
    ask(receiveLeadCommand("lead_1"))
    ask({ type: "CollectLeads", leadIds: ["lead_1"] })
    const answer = ask(receiveLeadCommand(leadId, "lead_1"), NOW + later)
    expect(answer).toHaveLength(count)
  })

  it("is accepted without effect when the form is full, and rejected once the form is closed", () => {
    const { ask } = company()
    countAccepted(ask, MAX_LEADS_PER_MINUTE - 1, NOW, 1)
    ask(receiveLeadCommand("lead_last"), NOW + 200)
    expect(ask(receiveLeadCommand("lead_last"), NOW + 300)).toEqual([])
    expect(ask(receiveLeadCommand("lead_other"), NOW + 300)).toBe("minute_full")
    ask({ type: "CloseLeadForm", formId: "form_1" }, NOW + 400)
    expect(ask(receiveLeadCommand("lead_last"), NOW + 500)).toBe("no_form")
  })
})

/** Random commands, each up to 40 seconds after the previous. */
const histories = fc.array(fc.tuple(leadCommand, fc.nat(40_000)), { maxLength: 60, size: "max" })

function factsOf(given: readonly (readonly [LeadCommand, number])[]): readonly LeadEvent[] {
  const { ask } = company()
  let at = NOW
  return given.flatMap(([command, later]) => {
    at += later
    const answer = ask(command, at)
    return typeof answer === "string" ? [] : answer
  })
}

describe("any sequence of commands", () => {
  it("collects a lead at most once, after it was received and before it is erased", () => {
    fc.assert(
      fc.property(histories, (given) => {
        const waiting = new Set<LeadId>()
        for (const fact of factsOf(given)) {
          if (fact.type === "LeadReceived") waiting.add(fact.leadId)
          if (fact.type === "LeadErased") waiting.delete(fact.leadId)
          if (fact.type !== "LeadsCollected") continue
          expect(fact.leadIds.length).toBeGreaterThan(0)
          for (const id of fact.leadIds) expect(waiting.delete(id)).toBe(true)
        }
      }),
    )
  })

  it("receives no id twice within three minutes", () => {
    fc.assert(
      fc.property(histories, (given) => {
        const receivedAt = new Map<LeadId, number>()
        for (const fact of factsOf(given)) {
          if (fact.type !== "LeadReceived") continue
          expect(fact.at - (receivedAt.get(fact.leadId) ?? -Infinity)).toBeGreaterThanOrEqual(
            3 * MINUTE,
          )
          receivedAt.set(fact.leadId, fact.at)
        }
      }),
    )
  })
})
