/**
 * From nothing to texting: in test mode with pages that are served here, and in earnest, as Telnyx has it
 * reviewed.
 */
import { randomUUID } from "node:crypto"
import { afterAll, expect, it } from "vitest"
import { domainStreamOf } from "../../domain/domains/aggregates.ts"
import type { DomainId } from "../../domain/domains/domain-events.ts"
import { causedBy } from "../../src/frame/kernel/envelope.ts"
import { ownDomainWorld } from "../domains/domain-world.ts"
import { openTelnyxInstallation } from "../phone/telnyx-installation.ts"
import { postText } from "../phone/text-requests.ts"
import {
  loadHostNames,
  makeHostedPages,
  optInsOf,
  submitOptIn,
  waitForFormTime,
  visitHost,
} from "../registration/opt-in-pages.ts"
import {
  callPhoneRoute,
  phoneRouteBody,
  reviewFeesOf,
  partStatusLine,
  requestBusinessReview,
  requestCampaignReview,
  registrationStatusOf,
  saveRegistration,
} from "../registration/registration-world.ts"

const here = await ownDomainWorld()
const by = await openTelnyxInstallation()
afterAll(() => by.close())

it("goes from nothing to approved in test mode, with pages that are served here, and costs nothing", async () => {
  // Business, pages and their host name.
  const { company, domainId, hostname } = await makeHostedPages(here)
  const waiting = await phoneRouteBody(here, company, "POST pages/check")
  expect(waiting).toMatchObject({ passed: false, domainStatus: "waiting_certificate" })

  // Somebody comes to the page by https, which shows that it is live; then it passes.
  const reached = { type: "MarkAppAddressReached", hostname } as const
  const stream = domainStreamOf(company.companyId, domainId as DomainId)
  await here.ports.runner.execute(stream, reached, causedBy("visit"))
  await loadHostNames(here)
  const passed = await phoneRouteBody(here, company, "POST pages/check")
  expect(passed).toEqual({ passed: true, problems: [], domainStatus: "live", domainError: null })

  // The campaign as it is drafted, with replies as they are suggested.
  const { texting } = await phoneRouteBody(here, company, "GET settings")
  await phoneRouteBody(here, company, "PATCH settings", { texting: texting.suggested })
  const draft = await phoneRouteBody(here, company, "POST campaign/draft")
  const campaign = { ...draft, brandType: "low_volume" }
  expect((await phoneRouteBody(here, company, "PUT campaign", campaign)).problems).toEqual([])

  // Reviewed by whoever stands in for the carriers.
  expect((await requestBusinessReview(here, company)).status).toBe(200)
  expect((await requestCampaignReview(here, company)).body.overall).toBe("waiting")
  const { overall, testMode } = await phoneRouteBody(here, company, "POST registration/confirm")
  expect([overall, testMode]).toEqual(["approved", true])
  expect(await reviewFeesOf(here, company)).toEqual([])
  const { texting: shown, pagesPassedAt } = await phoneRouteBody(here, company, "GET state")
  expect([shown, pagesPassedAt]).toEqual(["approved", expect.any(String)])

  // Somebody agrees on the page, and is texted.
  const agreed = {
    phone: "(415) 555-0177",
    service: "yes",
    _time: await waitForFormTime(here, hostname),
  }
  const sent = await submitOptIn(here, hostname, agreed)
  expect(sent.status).toBe(303)
  expect((await visitHost(here, hostname, String(sent.headers["location"]))).status).toBe(200)
  const [optIn] = await optInsOf(here, company)
  expect(optIn).toMatchObject({ phone: "+14155550177", service: true, method: "web" })
  expect((await postText(here, company.key, { to: optIn.phone })).status).toBe(200)
})

/** Telnyx tells that something is new, at the address that it was given. */
async function told(url: unknown, type: string): Promise<void> {
  const path = new URL(String(url)).pathname
  const data = { record_type: "event", event_type: type, id: randomUUID(), payload: {} }
  expect((await by.tell(path, { data })).status).toBe(200)
  await by.world.operate("wait")
}

it("is reviewed by Telnyx part by part, each for its fee, until a number of the company can text", async () => {
  const { world, server } = by
  const { brands, campaigns, assignments } = server.registry
  const company = await by.makeTexting()
  await world.operate("funds add", { company: company.companyId, dollars: "100" }, "review")
  await saveRegistration(world, company)

  // The business: asked for something more, put right for nothing, and approved.
  const sent = await requestBusinessReview(world, company, { live: true })
  expect([sent.status, sent.body.testMode, sent.body.overall]).toEqual([200, false, "waiting"])
  const refused = await postText(world, company.key, { from: company.number })
  expect([refused.status, refused.body.error]).toEqual([409, "no_number"])
  const [brand] = brands
  if (brand === undefined) throw new Error("Telnyx has no business")
  expect(brand).toMatchObject({ displayName: "Acme Bakery", ein: "123456789" })
  server.registry.feedback.set(String(brand["brandId"]), ["The tax number is another one's."])
  Object.assign(brand, { status: "OK", identityStatus: "UNVERIFIED" })
  await told(brand["webhookURL"], "10dlc.brand.update")
  const [business] = (await registrationStatusOf(world, company)).parts
  expect(business).toMatchObject({
    status: "action_needed",
    reasons: ["The tax number is another one's."],
  })
  expect((await requestBusinessReview(world, company)).status).toBe(200)
  expect(brands).toHaveLength(1)
  Object.assign(brand, { status: "OK", identityStatus: "VERIFIED" })
  await told(brand["webhookURL"], "10dlc.brand.update")
  expect(await partStatusLine(world, company)).toMatch(/^business approved, campaign not_sent/)

  // The campaign, and the number in it.
  await requestCampaignReview(world, company)
  const [campaign] = campaigns
  if (campaign === undefined) throw new Error("Telnyx has no campaign")
  expect(campaign).toMatchObject({ brandId: brand["brandId"], embeddedLink: false })
  campaign["campaignStatus"] = "MNO_PROVISIONED"
  await told(campaign["webhookURL"], "10dlc.campaign.update")
  expect(assignments).toMatchObject([{ phoneNumber: company.number }])
  Object.assign(assignments[0] ?? {}, { assignmentStatus: "ASSIGNED" })
  await told(campaign["webhookURL"], "10dlc.phone_number.update")
  expect(await partStatusLine(world, company)).toBe(
    "business approved, campaign approved, number approved",
  )
  const { textId, kept } = await company.send()
  expect([textId, kept.from]).toEqual([expect.stringMatching(/^msg_/), company.number])
  expect(await reviewFeesOf(world, company)).toEqual([
    "brand_fee_low_volume 4500000 final",
    "campaign_fee 15000000 final",
  ])

  // Suspended months later, which nobody tells: it is asked for each day.
  campaign["campaignStatus"] = "TCR_SUSPENDED"
  await world.operate("clock advance", { duration: "2d" })
  await world.operate("wait")
  expect((await registrationStatusOf(world, company)).overall).toBe("action_needed")
  const again = await callPhoneRoute(world, company, "POST messages", {
    to: "+14155550188",
    body: "Hello",
    from: company.number,
  })
  expect([again.status, again.body.error]).toEqual([409, "no_number"])
})
