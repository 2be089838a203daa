/** The rules of registration: business, pages, campaign, and what carriers say. */
import { describe, expect, it } from "vitest"
import { isRefusal } from "../../domain/kernel/decider.ts"
import { registrationStreamOf } from "../../domain/registration/aggregates.ts"
import type { RegistrationCommand } from "../../domain/registration/registration-commands.ts"
import type { RegistrationEvent } from "../../domain/registration/registration-events.ts"
import { registrationDecider } from "../../domain/registration/registration.ts"
import {
  submissionFeeOf,
  canTextFrom,
  missingPrerequisites,
  partStateOf,
  summarizeRegistration,
} from "../../domain/registration/registration-views.ts"
import {
  recordCheckCommand,
  saveBusinessCommand,
  saveCampaignCommand,
  savePagesCommand,
  submitPartCommand,
  submitCampaignCommand,
} from "./registration-commands.ts"

const NOW = Date.parse("2026-03-02T10:00:00.000Z")

/** A registration, to be asked one command after the other. */
function company(...commands: readonly RegistrationCommand[]) {
  let state = registrationDecider.initial()
  const ask = (command: RegistrationCommand): readonly string[] | string => {
    const answer = registrationDecider.decide(command, state, { at: NOW })
    if (isRefusal(answer)) return [answer.code, ...answer.missing].join(" ")
    state = answer.reduce(
      (folded, fact: RegistrationEvent) => registrationDecider.evolve(folded, fact),
      state,
    )
    return answer.map(({ type }) => type)
  }
  for (const command of commands) ask(command)
  return {
    ask,
    state: () => state,
    overall: (...numbers: string[]) => summarizeRegistration(state, numbers).overall,
  }
}

const reach = (submissionId: "reg_1" | "reg_2" | "reg_3" | "reg_4"): RegistrationCommand => ({
  type: "MarkPartReceived",
  submissionId,
  carrierRef: `ref ${submissionId}`,
})
const answer = (
  submissionId: "reg_1" | "reg_2" | "reg_3",
  verdict: "approved" | "action_needed" | "rejected" = "approved",
): RegistrationCommand => ({ type: "ReviewPart", submissionId, verdict, reasons: [] })

const READY = [saveBusinessCommand(), savePagesCommand, recordCheckCommand(), saveCampaignCommand]
const LIVE = submitPartCommand({ live: true, chargeId: "chg_1" })
const FEE = { chargeId: "chg_2" } as const

describe("what is written", () => {
  it("is written in its order", () => {
    const { ask, state } = company()
    expect(ask(savePagesCommand)).toBe("missing business")
    expect(ask(saveCampaignCommand)).toBe("missing business pages")
    expect(ask(recordCheckCommand())).toBe("missing business pages")
    expect(ask(submitPartCommand())).toBe("missing business")
    expect(ask(saveBusinessCommand())).toEqual(["BusinessSaved"])
    expect(ask(saveCampaignCommand)).toBe("missing pages")
    expect(ask(savePagesCommand)).toEqual(["PagesSaved"])
    expect(ask(saveCampaignCommand)).toEqual(["CampaignSaved"])
    expect(missingPrerequisites(state(), "submit campaign")).toEqual(["pages_check"])
  })

  it("does not change while it waits", () => {
    const { ask } = company(...READY, submitPartCommand(), reach("reg_1"))
    expect(ask(saveBusinessCommand())).toBe("waiting")
    expect(ask(saveCampaignCommand)).toEqual(["CampaignSaved"])
    ask(submitCampaignCommand())
    expect(ask(saveCampaignCommand)).toBe("waiting")
    expect(ask(savePagesCommand)).toBe("waiting")
  })

  it("has to pass its check once more where the pages change", () => {
    const { ask } = company(...READY, LIVE, reach("reg_1"), answer("reg_1"))
    ask(savePagesCommand)
    expect(ask(submitCampaignCommand(FEE))).toBe("missing pages_check")
    ask(recordCheckCommand(1))
    expect(ask(submitCampaignCommand(FEE))).toBe("missing pages_check")
    ask(recordCheckCommand())
    expect(ask(submitCampaignCommand(FEE))).toEqual(["PartSubmitted"])
  })
})

describe("a business that is sent", () => {
  it("is sent once: of two at once one is told that it waits", () => {
    const { ask, state } = company(...READY)
    expect(ask(LIVE)).toEqual(["PartSubmitted"])
    expect(ask(LIVE)).toEqual([])
    expect(ask(submitPartCommand({ live: true, submissionId: "reg_3", ...FEE }))).toBe("waiting")
    expect(partStateOf(state(), "business")).toMatchObject({ status: "waiting", attempt: 1 })
  })

  it("is one person's or a company's, as its details say", () => {
    expect(company(...READY).ask(submitPartCommand({ brandType: "sole_proprietor" }))).toBe(
      "brand_type",
    )
    const one = company(saveBusinessCommand(true))
    expect(one.ask(submitPartCommand())).toBe("brand_type")
    expect(one.ask(submitPartCommand({ brandType: "sole_proprietor" }))).toEqual(["PartSubmitted"])
  })

  it("stands as before where nobody got it", () => {
    const { ask, state, overall } = company(...READY, LIVE)
    const reached = { type: "MarkPartUndeliverable", submissionId: "reg_1" } as const
    const away = { ...reached, cause: "unavailable", reasons: [] } as const
    expect(ask(away)).toEqual(["PartUndeliverable"])
    expect(overall()).toBe("not_sent")
    expect(ask(away)).toEqual([])
    expect(submissionFeeOf(state(), LIVE)).toBe("fee")
    expect(ask(submitPartCommand({ live: true, submissionId: "reg_3", ...FEE }))).toEqual([
      "PartSubmitted",
    ])
    expect(ask(reach("reg_3"))).toEqual(["PartReceived"])
    expect(ask({ ...away, submissionId: "reg_3" })).toEqual([])
  })

  it("is sent again free where carriers asked for something, and for its fee where they refused", () => {
    const { ask, state } = company(...READY, LIVE, reach("reg_1"), answer("reg_1", "action_needed"))
    expect(submissionFeeOf(state(), submitPartCommand())).toBe("none")
    expect(ask(submitPartCommand({ submissionId: "reg_3", ...FEE }))).toBe("fee")
    expect(ask(submitPartCommand({ submissionId: "reg_3" }))).toEqual(["PartSubmitted"])
    expect(partStateOf(state(), "business").corrects).toBe("ref reg_1")
    ask(reach("reg_3"))
    ask(answer("reg_3", "rejected"))
    expect(submissionFeeOf(state(), submitPartCommand())).toBe("fee")
    expect(partStateOf(state(), "business")).toMatchObject({ attempt: 2, status: "rejected" })
  })

  it("is answered once carriers have it, and they may think otherwise months later", () => {
    const { ask, overall } = company(...READY, LIVE)
    expect(ask(answer("reg_1"))).toEqual([])
    ask(reach("reg_1"))
    expect(ask(answer("reg_1"))).toEqual(["PartReviewed"])
    expect(ask(answer("reg_1"))).toEqual([])
    expect(ask(LIVE)).toEqual([])
    expect(ask(submitPartCommand({ live: true, submissionId: "reg_3", ...FEE }))).toBe("approved")
    expect(ask(answer("reg_1", "action_needed"))).toEqual(["PartReviewed"])
    expect(overall()).toBe("action_needed")
    expect(ask(answer("reg_1"))).toEqual(["PartReviewed"])
  })
})

describe("a campaign", () => {
  it("waits for its business, which in test mode need not be approved", () => {
    const test = company(...READY)
    expect(test.ask(submitCampaignCommand())).toBe("missing business_review")
    test.ask(submitPartCommand())
    expect(test.ask(submitCampaignCommand())).toBe("missing business_review")
    test.ask(reach("reg_1"))
    expect(test.ask(submitCampaignCommand())).toEqual(["PartSubmitted"])
    const live = company(...READY, LIVE, reach("reg_1"))
    expect(live.ask(submitCampaignCommand(FEE))).toBe("missing business_review")
    live.ask(answer("reg_1"))
    expect(live.ask(submitCampaignCommand(FEE))).toEqual(["PartSubmitted"])
  })
})

const TESTED = [
  ...READY,
  submitPartCommand(),
  reach("reg_1"),
  submitCampaignCommand(),
  reach("reg_2"),
]
const confirm = { type: "ApproveTestSubmissions", numberIds: ["num_1", "num_2"] } as const

describe("test mode", () => {
  it("costs nothing, and is confirmed by whoever stands in for the carriers", () => {
    const { ask, state, overall } = company(...TESTED)
    expect(submissionFeeOf(state(), submitPartCommand())).toBe("none")
    expect(ask(confirm)).toEqual([
      "PartReviewed",
      "PartReviewed",
      "NumberReviewed",
      "NumberReviewed",
    ])
    expect(overall("num_1", "num_2")).toBe("approved")
    expect(ask(confirm)).toBe("nothing_waits")
  })

  it("ends with a live business: what was written stays, what was tested is as if it never was", () => {
    const { ask, state, overall } = company(...TESTED, confirm)
    expect(submissionFeeOf(state(), LIVE)).toBe("fee")
    expect(ask(submitPartCommand({ live: true, submissionId: "reg_3", ...FEE }))).toEqual([
      "PartSubmitted",
    ])
    expect(summarizeRegistration(state(), ["num_1"])).toMatchObject({
      testMode: false,
      overall: "waiting",
    })
    expect(missingPrerequisites(state(), "submit campaign")).toEqual([])
    expect(ask(confirm)).toBe("live")
    expect(submissionFeeOf(state(), submitCampaignCommand())).toBe("fee")
    expect(overall("num_1")).toBe("waiting")
    expect(ask(answer("reg_1", "rejected"))).toEqual([])
  })
})

describe("a business that is meant, and that nobody got", () => {
  it("leaves everything as it was tested", () => {
    const meant = submitPartCommand({ live: true, submissionId: "reg_3", ...FEE })
    const again = company(...TESTED, confirm, meant)
    expect(summarizeRegistration(again.state(), ["num_1"])).toMatchObject({ testMode: false })
    again.ask({
      type: "MarkPartUndeliverable",
      submissionId: "reg_3",
      cause: "unavailable",
      reasons: [],
    })
    expect(summarizeRegistration(again.state(), ["num_1"])).toMatchObject({ testMode: true })
    expect(again.overall("num_1", "num_2")).toBe("approved")
    expect(canTextFrom(again.state(), { numberId: "num_1", test: false })).toBe(true)
    expect(again.ask(submitPartCommand({ live: true, submissionId: "reg_4", ...FEE }))).toEqual([
      "PartSubmitted",
    ])
    expect(again.overall("num_1")).toBe("waiting")
  })

  it("is not sent while a test is on its way", () => {
    const { ask } = company(...READY, submitPartCommand())
    expect(ask(submitPartCommand({ live: true, submissionId: "reg_3", ...FEE }))).toBe("waiting")
  })
})

describe("a review that carriers asked something about", () => {
  const asked = [...READY, LIVE, reach("reg_1"), answer("reg_1", "action_needed")]

  it("is another one with another brand type, and costs its fee", () => {
    const { ask, state } = company(...asked)
    const standard = { submissionId: "reg_3", brandType: "standard" } as const
    expect(submissionFeeOf(state(), submitPartCommand({ brandType: "standard" }))).toBe("fee")
    expect(ask(submitPartCommand(standard))).toBe("fee")
    expect(ask(submitPartCommand({ ...standard, ...FEE }))).toEqual(["PartSubmitted"])
    ask({ type: "MarkPartUndeliverable", submissionId: "reg_3", cause: "unavailable", reasons: [] })
    // Nobody got it, so nothing of it was paid.
    expect(submissionFeeOf(state(), submitPartCommand({ brandType: "standard" }))).toBe("fee")
    expect(submissionFeeOf(state(), submitPartCommand())).toBe("none")
  })

  it("costs rush alone where that was not paid before", () => {
    const { ask, state } = company(...READY, LIVE, reach("reg_1"), answer("reg_1"))
    expect(submissionFeeOf(state(), submitCampaignCommand({ rush: true }))).toBe("fee_with_rush")
    ask(submitCampaignCommand(FEE))
    ask(reach("reg_2"))
    ask(answer("reg_2", "action_needed"))
    expect(submissionFeeOf(state(), submitCampaignCommand())).toBe("none")
    const rushed = { submissionId: "reg_3", rush: true, ...FEE } as const
    expect(ask(submitCampaignCommand(rushed))).toBe("fee")
    expect(ask(submitCampaignCommand({ ...rushed, fee: "rush" }))).toEqual(["PartSubmitted"])
    ask(reach("reg_3"))
    ask(answer("reg_3", "action_needed"))
    expect(submissionFeeOf(state(), submitCampaignCommand({ rush: true }))).toBe("none")
  })
})

describe("a business whose approval is taken back", () => {
  it("can text no more, and a new one has its campaign reviewed anew", () => {
    const number = { type: "ReviewNumber", numberId: "num_1", verdict: "approved" } as const
    const { ask, state, overall } = company(
      ...READY,
      LIVE,
      reach("reg_1"),
      answer("reg_1"),
      submitCampaignCommand(FEE),
      reach("reg_2"),
      answer("reg_2"),
      { ...number, reasons: [] },
    )
    const textable = () => canTextFrom(state(), { numberId: "num_1", test: false })
    expect([textable(), overall("num_1")]).toEqual([true, "approved"])
    expect(ask(saveBusinessCommand())).toBe("approved")
    ask(answer("reg_1", "rejected"))
    expect([textable(), overall("num_1")]).toEqual([false, "rejected"])
    expect(ask(submitPartCommand({ submissionId: "reg_3", ...FEE }))).toEqual(["PartSubmitted"])
    ask(reach("reg_3"))
    ask(answer("reg_3"))
    expect([textable(), overall("num_1")]).toEqual([false, "not_sent"])
    expect(ask(answer("reg_2", "action_needed"))).toEqual([])
  })
})

describe("the whole", () => {
  it("stands as its worst part that could be sent by now", () => {
    const { ask, overall } = company(...READY)
    expect(overall("num_1")).toBe("not_sent")
    ask(LIVE)
    expect(overall("num_1")).toBe("waiting")
    ask(reach("reg_1"))
    ask(answer("reg_1"))
    expect(overall("num_1")).toBe("not_sent")
    ask(submitCampaignCommand(FEE))
    ask(reach("reg_2"))
    expect(overall("num_1")).toBe("waiting")
    ask(answer("reg_2"))
    expect(overall("num_1")).toBe("not_sent")
    ask({ type: "ReviewNumber", numberId: "num_1", verdict: "approved", reasons: [] })
    expect(overall("num_1")).toBe("approved")
    ask(answer("reg_2", "rejected"))
    expect(overall("num_1")).toBe("rejected")
    expect(registrationStreamOf("co_1").stream).toBe("registration-co_1")
  })
})
