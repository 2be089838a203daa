/**
 * Telnyx accepted a request and then answers what says nothing, or the request that follows fails: the adapters say
 * "unknown", never "undone", and asking or doing it again finds the one thing that Telnyx made.
 */
import { afterAll, beforeEach, describe, expect, it } from "vitest"
import { openTelnyxCarrier } from "../../adapters/providers/carrier/telnyx.ts"
import { ProviderOutcomeUnknown } from "../../adapters/providers/provider-errors.ts"
import {
  REVIEWED_BUSINESS,
  SOLE_PROPRIETOR_BUSINESS,
  submissionQueryOf,
  newBusinessSubmission,
  newCampaignSubmission,
  newNumberRegistration,
  openTelnyxRegistryFixture,
  acceptedReferenceIn,
} from "../support/registrations.ts"

const by = await openTelnyxRegistryFixture()
afterAll(() => by.server.close())
const carrier = openTelnyxCarrier({
  key: by.server.key,
  publicKey: by.account.publicKey,
  url: by.server.url,
  connectionId: null,
  baseUrl: () => "https://ledger.test",
  keyedHash: (text) => Buffer.from(text.padStart(16, "_")).toString("hex").slice(-32),
  warn: () => undefined,
})
beforeEach(() => {
  by.server.callFailure = null
  by.server.nextBehavior = null
  by.server.behaviorByCall.clear()
})

/** What is done at Telnyx, ready to be done. */
interface Ready {
  /** The request that Telnyx accepts: `POST /messages`. */
  readonly accepted: string
  readonly act: () => Promise<unknown>
  /** Asks about it, or does it again, as the job does. */
  readonly again: () => Promise<unknown>
  /** What the second look comes to. */
  readonly known: unknown
  /** How many of it Telnyx has. */
  readonly count: () => number
}

let made = 0
const name = (kind: string) => `${kind}_${(made += 1)}`
const sentOf = (call: string) => by.server.requests.filter((one) => one.call === call).length
const sentTo = (call: string) => {
  const before = sentOf(call)
  return () => sentOf(call) - before
}
const submitted = async () => acceptedReferenceIn(await by.registry.submit(newBusinessSubmission()))
const campaignOf = async () =>
  acceptedReferenceIn(await by.registry.submit(newCampaignSubmission(await submitted())))
const bought = async () => {
  const [number = ""] = [...by.server.orderableNumbers]
  const order = { orderId: name("num"), companyId: "co_1", number } as const
  const answer = await carrier.buyNumber(order)
  return (answer as { readonly carrierRef: string }).carrierRef
}

const ACCEPTED: Readonly<Record<string, () => Promise<Ready>>> = {
  "a text": async () => {
    const text = { textId: name("msg"), companyId: "co_1", from: "+12015550100" } as const
    const sent = { ...text, to: "+14155550199", isTest: false }
    return {
      accepted: "POST /messages",
      act: () => carrier.send({ ...sent, body: "Hello" }),
      again: () => carrier.checkTextStatus({ ...sent, queuedAt: Date.now() }),
      known: { answer: "accepted" },
      count: sentTo("POST /messages"),
    }
  },
  "an order of a number": async () => {
    const [number = ""] = [...by.server.orderableNumbers]
    const order = { orderId: name("num"), companyId: "co_1", number } as const
    return {
      accepted: "POST /number_orders",
      act: () => carrier.buyNumber(order),
      again: () => carrier.checkOrderStatus(order),
      known: { answer: "bought" },
      count: sentTo("POST /number_orders"),
    }
  },
  "the release of a number": async () => {
    const ref = await bought()
    const accepted = `DELETE /phone_numbers/${ref}`
    return {
      accepted,
      act: () => carrier.releaseNumber(ref),
      again: async () => {
        await carrier.releaseNumber(ref)
        return { isReleased: true }
      },
      known: { isReleased: true },
      // To release a number that is gone is nothing.
      count: () => 1,
    }
  },
  "the end of a company's profile": async () => {
    const companyId = `co_${(made += 1)}` as const
    const replies = { optOutReply: "Bye", optInReply: "Hi", helpReply: "Ask" }
    await carrier.setKeywordReplies({ companyId, ...replies, extraOptOutWords: [] })
    const ours = () => by.server.profiles.filter((one) => one["name"] === companyId)
    return {
      accepted: `DELETE /messaging_profiles/${String(ours()[0]?.["id"])}`,
      act: () => carrier.eraseCompany(companyId),
      again: async () => {
        await carrier.eraseCompany(companyId)
        return { left: ours().length }
      },
      known: { left: 0 },
      count: () => 1,
    }
  },
  "a reply to keywords": async () => {
    const companyId = `co_${(made += 1)}` as const
    const says = { optOutReply: "Bye", optInReply: "Hi", helpReply: "Ask" }
    const replies = { companyId, ...says, extraOptOutWords: [] }
    await carrier.setKeywordReplies(replies)
    const profile = by.server.profiles.find((one) => one["name"] === companyId)?.["id"]
    const ours = () => by.server.replies.filter((one) => one["profile"] === profile)
    by.server.replies.splice(0, by.server.replies.length)
    return {
      accepted: `POST /messaging_profiles/${String(profile)}/autoresp_configs`,
      act: () => carrier.setKeywordReplies(replies),
      again: async () => {
        await carrier.setKeywordReplies(replies)
        return { replies: ours().length }
      },
      known: { replies: 6 },
      count: () => ours().filter(({ op, country_code: of }) => op === "stop" && of === "US").length,
    }
  },
  "a business": async () => {
    const business = newBusinessSubmission()
    return {
      accepted: "POST /10dlc/brand",
      act: () => by.registry.submit(business),
      again: () => by.registry.checkStatus(submissionQueryOf(business)),
      known: { answer: "taken" },
      count: sentTo("POST /10dlc/brand"),
    }
  },
  "a campaign": async () => {
    const campaign = newCampaignSubmission(await submitted())
    return {
      accepted: "POST /10dlc/campaignBuilder",
      act: () => by.registry.submit(campaign),
      again: () => by.registry.checkStatus(submissionQueryOf(campaign)),
      known: { answer: "taken" },
      count: sentTo("POST /10dlc/campaignBuilder"),
    }
  },
  "the end of a campaign": async () => {
    const ref = await campaignOf()
    const ended = { companyId: "co_1", isTest: false, ref } as const
    return {
      accepted: `DELETE /10dlc/campaign/${ref}`,
      act: () => by.registry.endCampaign(ended),
      again: async () => {
        await by.registry.endCampaign(ended)
        return { status: by.newest("campaigns")["status"] }
      },
      known: { status: "EXPIRED" },
      count: () => 1,
    }
  },
  "a number in its campaign": async () => {
    const registration = newNumberRegistration(await campaignOf())
    return {
      accepted: "POST /10dlc/phone_number_campaigns",
      act: () => by.registry.registerNumber(registration),
      again: () => by.registry.registerNumber(registration),
      known: { answer: "waiting" },
      count: sentTo("POST /10dlc/phone_number_campaigns"),
    }
  },
  "the verification of a toll-free number": async () => {
    const registration = newNumberRegistration("c1", { kind: "toll_free" })
    return {
      accepted: "POST /messaging_tollfree/verification/requests",
      act: () => by.registry.registerNumber(registration),
      again: () => by.registry.registerNumber(registration),
      known: { answer: "waiting" },
      count: sentTo("POST /messaging_tollfree/verification/requests"),
    }
  },
}

const LOST = [307, 408, 409, 425, 500, 502, 503, 504]
const lostRows = Object.entries(ACCEPTED).flatMap(([of, ready]) =>
  LOST.map((status) => ({ of, status, ready })),
)

describe("accepted, then answered by what says nothing", () => {
  it.each(lostRows)("$of, $status: unknown, found, done once", async ({ status, ready }) => {
    const { accepted, act, again, known, count } = await ready()
    by.server.behaviorByCall.set(accepted, { status, code: "10007", isDone: true })
    await expect(act()).rejects.toThrow(ProviderOutcomeUnknown)
    expect(await again()).toMatchObject(known as object)
    expect(count()).toBe(1)
  })
})

/** What is done in two requests: the second follows an accepted first. */
interface Followed extends Omit<Ready, "accepted"> {
  readonly follows: RegExp
}

const corrected = async (business = REVIEWED_BUSINESS) => {
  const ref = await submitted()
  Object.assign(by.newest("brands"), { status: "OK", identityStatus: "UNVERIFIED" })
  const correction = newBusinessSubmission({ correctedRef: ref, business })
  return {
    act: () => by.registry.submit(correction),
    again: () => by.registry.checkStatus(submissionQueryOf(correction)),
    known: { answer: "taken", ref },
    count: sentTo(`PUT /10dlc/brand/${ref}`),
  }
}

const FOLLOWED: Readonly<Record<string, () => Promise<Followed>>> = {
  "a business that is corrected and looked at again": async () => ({
    ...(await corrected()),
    follows: /^PUT .*\/revet$/,
  }),
  "a business of one person that is corrected, and its code": async () => ({
    ...(await corrected(SOLE_PROPRIETOR_BUSINESS)),
    follows: /\/smsOtp$/,
  }),
  "a campaign that is corrected and appealed": async () => {
    const ref = await campaignOf()
    Object.assign(by.newest("campaigns"), { campaignStatus: "MNO_REJECTED" })
    const businessRef = String(by.newest("campaigns")["brandId"])
    const correction = newCampaignSubmission(businessRef, { correctedRef: ref })
    return {
      act: () => by.registry.submit(correction),
      again: () => by.registry.checkStatus(submissionQueryOf(correction)),
      known: { answer: "taken", ref },
      count: sentTo(`PUT /10dlc/campaign/${ref}`),
      follows: /\/appeal$/,
    }
  },
  "a campaign whose reference Telnyx has, and the look for it": async () => {
    const campaign = newCampaignSubmission(await submitted())
    await by.registry.submit(campaign)
    const { campaigns } = by.server.registry
    return {
      act: () => by.registry.submit(campaign),
      again: () => by.registry.checkStatus(submissionQueryOf(campaign)),
      known: { answer: "taken" },
      count: () => campaigns.filter((one) => one["referenceId"] === campaign.submissionId).length,
      follows: /^GET \/10dlc\/campaign/,
    }
  },
}

const FAULTS = [429, 401, 500, "cut"] as const
const followedRows = Object.entries(FOLLOWED).flatMap(([of, ready]) =>
  FAULTS.map((how) => ({ of, how, ready })),
)

describe("accepted, then the request that follows fails", () => {
  it.each(followedRows)("$of, $how: unknown, found, done once", async ({ how: failure, ready }) => {
    const { act, again, known, count, follows } = await ready()
    by.server.callFailure = { calls: follows, failure }
    await expect(act()).rejects.toThrow(ProviderOutcomeUnknown)
    by.server.callFailure = null
    expect(await again()).toMatchObject(known as object)
    expect(count()).toBe(1)
  })

  it.each(FAULTS)(
    "an order of a number, and the look at it, %s: pending, then bought",
    async (failure) => {
      const [number = ""] = [...by.server.orderableNumbers]
      const order = { orderId: name("num"), companyId: "co_1", number } as const
      const count = sentTo("POST /number_orders")
      by.server.callFailure = { calls: /^GET \/phone_numbers/, failure }
      expect(await carrier.buyNumber(order)).toEqual({ answer: "pending" })
      by.server.callFailure = null
      expect(await carrier.checkOrderStatus(order)).toMatchObject({ answer: "bought" })
      expect(count()).toBe(1)
    },
  )
})
