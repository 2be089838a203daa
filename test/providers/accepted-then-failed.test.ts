/**
 * Telnyx executes a request and answers with an error, or the request that secondCall fails: the adapters report an
 * unknown outcome, and a status check or a retry finds the one thing that Telnyx created.
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

const telnyx = await openTelnyxRegistryFixture()
afterAll(() => telnyx.server.close())
const carrier = openTelnyxCarrier({
  key: telnyx.server.key,
  publicKey: telnyx.account.publicKey,
  url: telnyx.server.url,
  connectionId: null,
  baseUrl: () => "https://ledger.test",
  keyedHash: (text) => Buffer.from(text.padStart(16, "_")).toString("hex").slice(-32),
  warn: () => undefined,
})
beforeEach(() => {
  telnyx.server.callFailure = null
  telnyx.server.nextBehavior = null
  telnyx.server.behaviorByCall.clear()
})

/** A request to Telnyx, ready to be sent. */
interface Prepared {
  /** The call that Telnyx executes: `POST /messages`. */
  readonly call: string
  readonly send: () => Promise<unknown>
  /** Checks the status or repeats the request, as the job does. */
  readonly reconcile: () => Promise<unknown>
  /** Result of `reconcile`. */
  readonly expected: unknown
  /** How many times Telnyx executed it. */
  readonly count: () => number
}

let lastName = 0
const name = (kind: string) => `${kind}_${(lastName += 1)}`
const countRequests = (call: string) =>
  telnyx.server.requests.filter((one) => one.call === call).length
const countNewRequests = (call: string) => {
  const before = countRequests(call)
  return () => countRequests(call) - before
}
const submitBusiness = async () =>
  acceptedReferenceIn(await telnyx.registry.submit(newBusinessSubmission()))
const submitCampaign = async () =>
  acceptedReferenceIn(await telnyx.registry.submit(newCampaignSubmission(await submitBusiness())))
const buyNumber = async () => {
  const [number = ""] = [...telnyx.server.orderableNumbers]
  const order = { orderId: name("num"), companyId: "co_1", number } as const
  const answer = await carrier.buyNumber(order)
  return (answer as { readonly carrierRef: string }).carrierRef
}

const PREPARED: Readonly<Record<string, () => Promise<Prepared>>> = {
  "a text": async () => {
    const text = { textId: name("msg"), companyId: "co_1", from: "+12015550100" } as const
    const sent = { ...text, to: "+14155550199", isTest: false }
    return {
      call: "POST /messages",
      send: () => carrier.send({ ...sent, body: "Hello" }),
      reconcile: () => carrier.checkTextStatus({ ...sent, queuedAt: Date.now() }),
      expected: { answer: "accepted" },
      count: countNewRequests("POST /messages"),
    }
  },
  "an order of a number": async () => {
    const [number = ""] = [...telnyx.server.orderableNumbers]
    const order = { orderId: name("num"), companyId: "co_1", number } as const
    return {
      call: "POST /number_orders",
      send: () => carrier.buyNumber(order),
      reconcile: () => carrier.checkOrderStatus(order),
      expected: { answer: "bought" },
      count: countNewRequests("POST /number_orders"),
    }
  },
  "the release of a number": async () => {
    const ref = await buyNumber()
    return {
      call: `DELETE /phone_numbers/${ref}`,
      send: () => carrier.releaseNumber(ref),
      reconcile: async () => {
        await carrier.releaseNumber(ref)
        return { isReleased: true }
      },
      expected: { isReleased: true },
      // Releasing a number that is already released has no effect.
      count: () => 1,
    }
  },
  "the deletion of a company's profile": async () => {
    const companyId = `co_${(lastName += 1)}` as const
    const replies = { optOutReply: "Bye", optInReply: "Hi", helpReply: "Ask" }
    await carrier.setKeywordReplies({ companyId, ...replies, extraOptOutWords: [] })
    const ours = () => telnyx.server.profiles.filter((one) => one["name"] === companyId)
    return {
      call: `DELETE /messaging_profiles/${String(ours()[0]?.["id"])}`,
      send: () => carrier.eraseCompany(companyId),
      reconcile: async () => {
        await carrier.eraseCompany(companyId)
        return { left: ours().length }
      },
      expected: { left: 0 },
      count: () => 1,
    }
  },
  "a reply to keywords": async () => {
    const companyId = `co_${(lastName += 1)}` as const
    const texts = { optOutReply: "Bye", optInReply: "Hi", helpReply: "Ask" }
    const replies = { companyId, ...texts, extraOptOutWords: [] }
    await carrier.setKeywordReplies(replies)
    const profile = telnyx.server.profiles.find((one) => one["name"] === companyId)?.["id"]
    const ours = () => telnyx.server.replies.filter((one) => one["profile"] === profile)
    telnyx.server.replies.splice(0, telnyx.server.replies.length)
    return {
      call: `POST /messaging_profiles/${String(profile)}/autoresp_configs`,
      send: () => carrier.setKeywordReplies(replies),
      reconcile: async () => {
        await carrier.setKeywordReplies(replies)
        return { replies: ours().length }
      },
      expected: { replies: 6 },
      count: () => ours().filter(({ op, country_code: of }) => op === "stop" && of === "US").length,
    }
  },
  "a business": async () => {
    const business = newBusinessSubmission()
    return {
      call: "POST /10dlc/brand",
      send: () => telnyx.registry.submit(business),
      reconcile: () => telnyx.registry.checkStatus(submissionQueryOf(business)),
      expected: { answer: "taken" },
      count: countNewRequests("POST /10dlc/brand"),
    }
  },
  "a campaign": async () => {
    const campaign = newCampaignSubmission(await submitBusiness())
    return {
      call: "POST /10dlc/campaignBuilder",
      send: () => telnyx.registry.submit(campaign),
      reconcile: () => telnyx.registry.checkStatus(submissionQueryOf(campaign)),
      expected: { answer: "taken" },
      count: countNewRequests("POST /10dlc/campaignBuilder"),
    }
  },
  "the end of a campaign": async () => {
    const ref = await submitCampaign()
    const ended = { companyId: "co_1", isTest: false, ref } as const
    return {
      call: `DELETE /10dlc/campaign/${ref}`,
      send: () => telnyx.registry.endCampaign(ended),
      reconcile: async () => {
        await telnyx.registry.endCampaign(ended)
        return { status: telnyx.newest("campaigns")["status"] }
      },
      expected: { status: "EXPIRED" },
      count: () => 1,
    }
  },
  "a number in its campaign": async () => {
    const registration = newNumberRegistration(await submitCampaign())
    return {
      call: "POST /10dlc/phone_number_campaigns",
      send: () => telnyx.registry.registerNumber(registration),
      reconcile: () => telnyx.registry.registerNumber(registration),
      expected: { answer: "waiting" },
      count: countNewRequests("POST /10dlc/phone_number_campaigns"),
    }
  },
  "the verification of a toll-free number": async () => {
    const registration = newNumberRegistration("c1", { kind: "toll_free" })
    return {
      call: "POST /messaging_tollfree/verification/requests",
      send: () => telnyx.registry.registerNumber(registration),
      reconcile: () => telnyx.registry.registerNumber(registration),
      expected: { answer: "waiting" },
      count: countNewRequests("POST /messaging_tollfree/verification/requests"),
    }
  },
}

const UNKNOWN_STATUSES = [307, 408, 409, 425, 500, 502, 503, 504]
const unknownRows = Object.entries(PREPARED).flatMap(([title, prepare]) =>
  UNKNOWN_STATUSES.map((status) => ({ title, status, prepare })),
)

describe("a call that is executed but answered with an error", () => {
  it.each(unknownRows)(
    "$title, $status: unknown, then found, executed once",
    async ({ status, prepare }) => {
      const { call, send, reconcile, expected, count } = await prepare()
      telnyx.server.behaviorByCall.set(call, { status, code: "10007", isDone: true })
      await expect(send()).rejects.toThrow(ProviderOutcomeUnknown)
      expect(await reconcile()).toMatchObject(expected as object)
      expect(count()).toBe(1)
    },
  )
})

/** Work of two requests, of which the first is executed. */
interface PreparedPair extends Omit<Prepared, "call"> {
  /** Matches the second request. */
  readonly secondCall: RegExp
}

const correctBusiness = async (business = REVIEWED_BUSINESS) => {
  const ref = await submitBusiness()
  Object.assign(telnyx.newest("brands"), { status: "OK", identityStatus: "UNVERIFIED" })
  const correction = newBusinessSubmission({ correctedRef: ref, business })
  return {
    send: () => telnyx.registry.submit(correction),
    reconcile: () => telnyx.registry.checkStatus(submissionQueryOf(correction)),
    expected: { answer: "taken", ref },
    count: countNewRequests(`PUT /10dlc/brand/${ref}`),
  }
}

const PREPARED_PAIRS: Readonly<Record<string, () => Promise<PreparedPair>>> = {
  "a business that is corrected and reviewed again": async () => ({
    ...(await correctBusiness()),
    secondCall: /^PUT .*\/revet$/,
  }),
  "a sole proprietor that is corrected, and its code": async () => ({
    ...(await correctBusiness(SOLE_PROPRIETOR_BUSINESS)),
    secondCall: /\/smsOtp$/,
  }),
  "a campaign that is corrected and appealed": async () => {
    const ref = await submitCampaign()
    Object.assign(telnyx.newest("campaigns"), { campaignStatus: "MNO_REJECTED" })
    const businessRef = String(telnyx.newest("campaigns")["brandId"])
    const correction = newCampaignSubmission(businessRef, { correctedRef: ref })
    return {
      send: () => telnyx.registry.submit(correction),
      reconcile: () => telnyx.registry.checkStatus(submissionQueryOf(correction)),
      expected: { answer: "taken", ref },
      count: countNewRequests(`PUT /10dlc/campaign/${ref}`),
      secondCall: /\/appeal$/,
    }
  },
  "a campaign whose reference Telnyx already has, and the search for it": async () => {
    const campaign = newCampaignSubmission(await submitBusiness())
    await telnyx.registry.submit(campaign)
    const { campaigns } = telnyx.server.registry
    return {
      send: () => telnyx.registry.submit(campaign),
      reconcile: () => telnyx.registry.checkStatus(submissionQueryOf(campaign)),
      expected: { answer: "taken" },
      count: () => campaigns.filter((one) => one["referenceId"] === campaign.submissionId).length,
      secondCall: /^GET \/10dlc\/campaign/,
    }
  },
}

const FAULTS = [429, 401, 500, "cut"] as const
const pairRows = Object.entries(PREPARED_PAIRS).flatMap(([title, prepare]) =>
  FAULTS.map((failure) => ({ title, failure, prepare })),
)

describe("a call that is executed, but whose second request fails", () => {
  it.each(pairRows)(
    "$title, $failure: unknown, then found, executed once",
    async ({ failure, prepare }) => {
      const { send, reconcile, expected, count, secondCall } = await prepare()
      telnyx.server.callFailure = { calls: secondCall, failure }
      await expect(send()).rejects.toThrow(ProviderOutcomeUnknown)
      telnyx.server.callFailure = null
      expect(await reconcile()).toMatchObject(expected as object)
      expect(count()).toBe(1)
    },
  )

  it.each(FAULTS)(
    "an order of a number, and its status check, %s: pending, then bought",
    async (failure) => {
      const [number = ""] = [...telnyx.server.orderableNumbers]
      const order = { orderId: name("num"), companyId: "co_1", number } as const
      const count = countNewRequests("POST /number_orders")
      telnyx.server.callFailure = { calls: /^GET \/phone_numbers/, failure }
      expect(await carrier.buyNumber(order)).toEqual({ answer: "pending" })
      telnyx.server.callFailure = null
      expect(await carrier.checkOrderStatus(order)).toMatchObject({ answer: "bought" })
      expect(count()).toBe(1)
    },
  )
})
