/** The rules of registration: business, pages, campaign, and the carriers' reviews. */
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

function registrationAfter(...commands: readonly RegistrationCommand[]) {
  let state = registrationDecider.initial()
  const execute = (command: RegistrationCommand): readonly string[] | string => {
    const answer = registrationDecider.decide(command, state, { at: NOW })
    if (isRefusal(answer)) return [answer.code, ...answer.missing].join(" ")
    state = answer.reduce(
      (folded, fact: RegistrationEvent) => registrationDecider.evolve(folded, fact),
      state,
    )
    return answer.map(({ type }) => type)
  }
  for (const command of commands) execute(command)
  return {
    execute,
    state: () => state,
    overall: (...numbers: string[]) => summarizeRegistration(state, numbers).overall,
  }
}

const receive = (submissionId: "reg_1" | "reg_2" | "reg_3" | "reg_4"): RegistrationCommand => ({
  type: "MarkPartReceived",
  submissionId,
  carrierRef: `ref ${submissionId}`,
})
const review = (
  submissionId: "reg_1" | "reg_2" | "reg_3",
  verdict: "approved" | "action_needed" | "rejected" = "approved",
): RegistrationCommand => ({ type: "ReviewPart", submissionId, verdict, reasons: [] })

const READY = [saveBusinessCommand(), savePagesCommand, recordCheckCommand(), saveCampaignCommand]
const LIVE = submitPartCommand({ live: true, chargeId: "chg_1" })
const FEE = { chargeId: "chg_2" } as const

describe("a draft", () => {
  it("is saved in order: business, pages, campaign", () => {
    const { execute, state } = registrationAfter()
    expect(execute(savePagesCommand)).toBe("missing business")
    expect(execute(saveCampaignCommand)).toBe("missing business pages")
    expect(execute(recordCheckCommand())).toBe("missing business pages")
    expect(execute(submitPartCommand())).toBe("missing business")
    expect(execute(saveBusinessCommand())).toEqual(["BusinessSaved"])
    expect(execute(saveCampaignCommand)).toBe("missing pages")
    expect(execute(savePagesCommand)).toEqual(["PagesSaved"])
    expect(execute(saveCampaignCommand)).toEqual(["CampaignSaved"])
    expect(missingPrerequisites(state(), "submit campaign")).toEqual(["pages_check"])
  })

  it("cannot change while it is under review", () => {
    const { execute } = registrationAfter(...READY, submitPartCommand(), receive("reg_1"))
    expect(execute(saveBusinessCommand())).toBe("waiting")
    expect(execute(saveCampaignCommand)).toEqual(["CampaignSaved"])
    execute(submitCampaignCommand())
    expect(execute(saveCampaignCommand)).toBe("waiting")
    expect(execute(savePagesCommand)).toBe("waiting")
  })

  it("needs another check of its pages after they change", () => {
    const { execute } = registrationAfter(...READY, LIVE, receive("reg_1"), review("reg_1"))
    execute(savePagesCommand)
    expect(execute(submitCampaignCommand(FEE))).toBe("missing pages_check")
    execute(recordCheckCommand(1))
    expect(execute(submitCampaignCommand(FEE))).toBe("missing pages_check")
    execute(recordCheckCommand())
    expect(execute(submitCampaignCommand(FEE))).toEqual(["PartSubmitted"])
  })
})

describe("a submitted business", () => {
  it("is submitted once: a second submission is rejected while it waits", () => {
    const { execute, state } = registrationAfter(...READY)
    expect(execute(LIVE)).toEqual(["PartSubmitted"])
    expect(execute(LIVE)).toEqual([])
    expect(execute(submitPartCommand({ live: true, submissionId: "reg_3", ...FEE }))).toBe(
      "waiting",
    )
    expect(partStateOf(state(), "business")).toMatchObject({ status: "waiting", attempt: 1 })
  })

  it("must have the brand type of its details: a sole proprietor or a company", () => {
    expect(
      registrationAfter(...READY).execute(submitPartCommand({ brandType: "sole_proprietor" })),
    ).toBe("brand_type")
    const sole = registrationAfter(saveBusinessCommand(true))
    expect(sole.execute(submitPartCommand())).toBe("brand_type")
    expect(sole.execute(submitPartCommand({ brandType: "sole_proprietor" }))).toEqual([
      "PartSubmitted",
    ])
  })

  it("has no effect if it is undeliverable", () => {
    const { execute, state, overall } = registrationAfter(...READY, LIVE)
    const undeliverable = {
      type: "MarkPartUndeliverable",
      submissionId: "reg_1",
      cause: "unavailable",
      reasons: [],
    } as const
    expect(execute(undeliverable)).toEqual(["PartUndeliverable"])
    expect(overall()).toBe("not_sent")
    expect(execute(undeliverable)).toEqual([])
    expect(submissionFeeOf(state(), LIVE)).toBe("fee")
    expect(execute(submitPartCommand({ live: true, submissionId: "reg_3", ...FEE }))).toEqual([
      "PartSubmitted",
    ])
    expect(execute(receive("reg_3"))).toEqual(["PartReceived"])
    expect(execute({ ...undeliverable, submissionId: "reg_3" })).toEqual([])
  })

  it("is resubmitted free if carriers need a correction, and for its fee if they rejected it", () => {
    const { execute, state } = registrationAfter(
      ...READY,
      LIVE,
      receive("reg_1"),
      review("reg_1", "action_needed"),
    )
    expect(submissionFeeOf(state(), submitPartCommand())).toBe("none")
    expect(execute(submitPartCommand({ submissionId: "reg_3", ...FEE }))).toBe("fee")
    expect(execute(submitPartCommand({ submissionId: "reg_3" }))).toEqual(["PartSubmitted"])
    expect(partStateOf(state(), "business").corrects).toBe("ref reg_1")
    execute(receive("reg_3"))
    execute(review("reg_3", "rejected"))
    expect(submissionFeeOf(state(), submitPartCommand())).toBe("fee")
    expect(partStateOf(state(), "business")).toMatchObject({ attempt: 2, status: "rejected" })
  })

  it("is reviewed once carriers have received it, and the verdict may change later", () => {
    const { execute, overall } = registrationAfter(...READY, LIVE)
    expect(execute(review("reg_1"))).toEqual([])
    execute(receive("reg_1"))
    expect(execute(review("reg_1"))).toEqual(["PartReviewed"])
    expect(execute(review("reg_1"))).toEqual([])
    expect(execute(LIVE)).toEqual([])
    expect(execute(submitPartCommand({ live: true, submissionId: "reg_3", ...FEE }))).toBe(
      "approved",
    )
    expect(execute(review("reg_1", "action_needed"))).toEqual(["PartReviewed"])
    expect(overall()).toBe("action_needed")
    expect(execute(review("reg_1"))).toEqual(["PartReviewed"])
  })
})

describe("a campaign", () => {
  it("needs an approved business, but in test mode only a received one", () => {
    const test = registrationAfter(...READY)
    expect(test.execute(submitCampaignCommand())).toBe("missing business_review")
    test.execute(submitPartCommand())
    expect(test.execute(submitCampaignCommand())).toBe("missing business_review")
    test.execute(receive("reg_1"))
    expect(test.execute(submitCampaignCommand())).toEqual(["PartSubmitted"])
    const live = registrationAfter(...READY, LIVE, receive("reg_1"))
    expect(live.execute(submitCampaignCommand(FEE))).toBe("missing business_review")
    live.execute(review("reg_1"))
    expect(live.execute(submitCampaignCommand(FEE))).toEqual(["PartSubmitted"])
  })
})

const TESTED = [
  ...READY,
  submitPartCommand(),
  receive("reg_1"),
  submitCampaignCommand(),
  receive("reg_2"),
]
const confirm = { type: "ApproveTestSubmissions", numberIds: ["num_1", "num_2"] } as const

describe("test mode", () => {
  it("costs nothing, and is approved by the simulator", () => {
    const { execute, state, overall } = registrationAfter(...TESTED)
    expect(submissionFeeOf(state(), submitPartCommand())).toBe("none")
    expect(execute(confirm)).toEqual([
      "PartReviewed",
      "PartReviewed",
      "NumberReviewed",
      "NumberReviewed",
    ])
    expect(overall("num_1", "num_2")).toBe("approved")
    expect(execute(confirm)).toBe("nothing_waits")
  })

  it("ends with a live business: drafts stay, and test reviews no longer count", () => {
    const { execute, state, overall } = registrationAfter(...TESTED, confirm)
    expect(submissionFeeOf(state(), LIVE)).toBe("fee")
    expect(execute(submitPartCommand({ live: true, submissionId: "reg_3", ...FEE }))).toEqual([
      "PartSubmitted",
    ])
    expect(summarizeRegistration(state(), ["num_1"])).toMatchObject({
      testMode: false,
      overall: "waiting",
    })
    expect(missingPrerequisites(state(), "submit campaign")).toEqual([])
    expect(execute(confirm)).toBe("live")
    expect(submissionFeeOf(state(), submitCampaignCommand())).toBe("fee")
    expect(overall("num_1")).toBe("waiting")
    expect(execute(review("reg_1", "rejected"))).toEqual([])
  })
})

describe("a live business that is undeliverable", () => {
  it("leaves the registration in test mode", () => {
    const live = submitPartCommand({ live: true, submissionId: "reg_3", ...FEE })
    const registration = registrationAfter(...TESTED, confirm, live)
    expect(summarizeRegistration(registration.state(), ["num_1"])).toMatchObject({
      testMode: false,
    })
    registration.execute({
      type: "MarkPartUndeliverable",
      submissionId: "reg_3",
      cause: "unavailable",
      reasons: [],
    })
    expect(summarizeRegistration(registration.state(), ["num_1"])).toMatchObject({ testMode: true })
    expect(registration.overall("num_1", "num_2")).toBe("approved")
    expect(canTextFrom(registration.state(), { numberId: "num_1", test: false })).toBe(true)
    expect(
      registration.execute(submitPartCommand({ live: true, submissionId: "reg_4", ...FEE })),
    ).toEqual(["PartSubmitted"])
    expect(registration.overall("num_1")).toBe("waiting")
  })

  it("cannot be submitted while a test submission waits", () => {
    const { execute } = registrationAfter(...READY, submitPartCommand())
    expect(execute(submitPartCommand({ live: true, submissionId: "reg_3", ...FEE }))).toBe(
      "waiting",
    )
  })
})

describe("a submission that needs a correction", () => {
  const actionNeeded = [...READY, LIVE, receive("reg_1"), review("reg_1", "action_needed")]

  it("costs its fee again with another brand type", () => {
    const { execute, state } = registrationAfter(...actionNeeded)
    const standard = { submissionId: "reg_3", brandType: "standard" } as const
    expect(submissionFeeOf(state(), submitPartCommand({ brandType: "standard" }))).toBe("fee")
    expect(execute(submitPartCommand(standard))).toBe("fee")
    expect(execute(submitPartCommand({ ...standard, ...FEE }))).toEqual(["PartSubmitted"])
    execute({
      type: "MarkPartUndeliverable",
      submissionId: "reg_3",
      cause: "unavailable",
      reasons: [],
    })
    // It was undeliverable, so its fee was not paid.
    expect(submissionFeeOf(state(), submitPartCommand({ brandType: "standard" }))).toBe("fee")
    expect(submissionFeeOf(state(), submitPartCommand())).toBe("none")
  })

  it("costs only rush if rush was not paid before", () => {
    const { execute, state } = registrationAfter(...READY, LIVE, receive("reg_1"), review("reg_1"))
    expect(submissionFeeOf(state(), submitCampaignCommand({ rush: true }))).toBe("fee_with_rush")
    execute(submitCampaignCommand(FEE))
    execute(receive("reg_2"))
    execute(review("reg_2", "action_needed"))
    expect(submissionFeeOf(state(), submitCampaignCommand())).toBe("none")
    const rushed = { submissionId: "reg_3", rush: true, ...FEE } as const
    expect(execute(submitCampaignCommand(rushed))).toBe("fee")
    expect(execute(submitCampaignCommand({ ...rushed, fee: "rush" }))).toEqual(["PartSubmitted"])
    execute(receive("reg_3"))
    execute(review("reg_3", "action_needed"))
    expect(submissionFeeOf(state(), submitCampaignCommand({ rush: true }))).toBe("none")
  })
})

describe("a business whose approval is withdrawn", () => {
  it("stops texting, and its successor needs a new review of the campaign", () => {
    const number = { type: "ReviewNumber", numberId: "num_1", verdict: "approved" } as const
    const { execute, state, overall } = registrationAfter(
      ...READY,
      LIVE,
      receive("reg_1"),
      review("reg_1"),
      submitCampaignCommand(FEE),
      receive("reg_2"),
      review("reg_2"),
      { ...number, reasons: [] },
    )
    const canText = () => canTextFrom(state(), { numberId: "num_1", test: false })
    expect([canText(), overall("num_1")]).toEqual([true, "approved"])
    expect(execute(saveBusinessCommand())).toBe("approved")
    execute(review("reg_1", "rejected"))
    expect([canText(), overall("num_1")]).toEqual([false, "rejected"])
    expect(execute(submitPartCommand({ submissionId: "reg_3", ...FEE }))).toEqual(["PartSubmitted"])
    execute(receive("reg_3"))
    execute(review("reg_3"))
    expect([canText(), overall("num_1")]).toEqual([false, "not_sent"])
    expect(execute(review("reg_2", "action_needed"))).toEqual([])
  })
})

describe("the overall status", () => {
  it("is that of the worst part that can be submitted", () => {
    const { execute, overall } = registrationAfter(...READY)
    expect(overall("num_1")).toBe("not_sent")
    execute(LIVE)
    expect(overall("num_1")).toBe("waiting")
    execute(receive("reg_1"))
    execute(review("reg_1"))
    expect(overall("num_1")).toBe("not_sent")
    execute(submitCampaignCommand(FEE))
    execute(receive("reg_2"))
    expect(overall("num_1")).toBe("waiting")
    execute(review("reg_2"))
    expect(overall("num_1")).toBe("not_sent")
    execute({ type: "ReviewNumber", numberId: "num_1", verdict: "approved", reasons: [] })
    expect(overall("num_1")).toBe("approved")
    execute(review("reg_2", "rejected"))
    expect(overall("num_1")).toBe("rejected")
    expect(registrationStreamOf("co_1").stream).toBe("registration-co_1")
  })
})
