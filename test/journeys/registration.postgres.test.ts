/** Registration from start to the first text: in test mode with hosted pages, and live with Telnyx. */
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

const testWorld = await ownDomainWorld()
const installation = await openTelnyxInstallation()
afterAll(() => installation.close())

it("a registration in test mode with hosted pages is approved without a charge", async () => {
  // The business, its pages and their host name.
  const { company, domainId, hostname } = await makeHostedPages(testWorld)
  const waiting = await phoneRouteBody(testWorld, company, "POST pages/check")
  expect(waiting).toMatchObject({ passed: false, domainStatus: "waiting_certificate" })

  // The first visit over https shows that the page is live; then the check passes.
  const reached = { type: "MarkAppAddressReached", hostname } as const
  const stream = domainStreamOf(company.companyId, domainId as DomainId)
  await testWorld.ports.runner.execute(stream, reached, causedBy("visit"))
  await loadHostNames(testWorld)
  const passed = await phoneRouteBody(testWorld, company, "POST pages/check")
  expect(passed).toEqual({ passed: true, problems: [], domainStatus: "live", domainError: null })

  // The campaign with the drafted text and the suggested replies.
  const { texting } = await phoneRouteBody(testWorld, company, "GET settings")
  await phoneRouteBody(testWorld, company, "PATCH settings", { texting: texting.suggested })
  const draft = await phoneRouteBody(testWorld, company, "POST campaign/draft")
  const campaign = { ...draft, brandType: "low_volume" }
  expect((await phoneRouteBody(testWorld, company, "PUT campaign", campaign)).problems).toEqual([])

  // The simulator approves in place of the carriers.
  expect((await requestBusinessReview(testWorld, company)).status).toBe(200)
  expect((await requestCampaignReview(testWorld, company)).body.overall).toBe("waiting")
  const { overall, testMode } = await phoneRouteBody(
    testWorld,
    company,
    "POST registration/confirm",
  )
  expect([overall, testMode]).toEqual(["approved", true])
  expect(await reviewFeesOf(testWorld, company)).toEqual([])
  const { texting: shown, pagesPassedAt } = await phoneRouteBody(testWorld, company, "GET state")
  expect([shown, pagesPassedAt]).toEqual(["approved", expect.any(String)])

  // A person opts in on the page and gets a text.
  const agreed = {
    phone: "(415) 555-0177",
    service: "yes",
    _time: await waitForFormTime(testWorld, hostname),
  }
  const sent = await submitOptIn(testWorld, hostname, agreed)
  expect(sent.status).toBe(303)
  expect((await visitHost(testWorld, hostname, String(sent.headers["location"]))).status).toBe(200)
  const [optIn] = await optInsOf(testWorld, company)
  expect(optIn).toMatchObject({ phone: "+14155550177", service: true, method: "web" })
  expect((await postText(testWorld, company.key, { to: optIn.phone })).status).toBe(200)
})

/** Sends a webhook of Telnyx that announces a change. */
async function notifyOf(url: unknown, type: string): Promise<void> {
  const path = new URL(String(url)).pathname
  const data = { record_type: "event", event_type: type, id: randomUUID(), payload: {} }
  expect((await installation.notify(path, { data })).status).toBe(200)
  await installation.world.operate("wait")
}

it("a live registration is reviewed by Telnyx part by part, for a fee each, until a number can text", async () => {
  const { world, server } = installation
  const { brands, campaigns, assignments } = server.registry
  const company = await installation.makeTextingCompany()
  await world.operate("funds add", { company: company.companyId, dollars: "100" }, "review")
  await saveRegistration(world, company)

  // The business: rejected with feedback, corrected without a fee, and approved.
  const sent = await requestBusinessReview(world, company, { live: true })
  expect([sent.status, sent.body.testMode, sent.body.overall]).toEqual([200, false, "waiting"])
  const refused = await postText(world, company.key, { from: company.number })
  expect([refused.status, refused.body.error]).toEqual([409, "no_number"])
  const [brand] = brands
  if (brand === undefined) throw new Error("Telnyx has no business")
  expect(brand).toMatchObject({ displayName: "Acme Bakery", ein: "123456789" })
  server.registry.feedback.set(String(brand["brandId"]), [
    "The tax number belongs to another business.",
  ])
  Object.assign(brand, { status: "OK", identityStatus: "UNVERIFIED" })
  await notifyOf(brand["webhookURL"], "10dlc.brand.update")
  const [business] = (await registrationStatusOf(world, company)).parts
  expect(business).toMatchObject({
    status: "action_needed",
    reasons: ["The tax number belongs to another business."],
  })
  expect((await requestBusinessReview(world, company)).status).toBe(200)
  expect(brands).toHaveLength(1)
  Object.assign(brand, { status: "OK", identityStatus: "VERIFIED" })
  await notifyOf(brand["webhookURL"], "10dlc.brand.update")
  expect(await partStatusLine(world, company)).toMatch(/^business approved, campaign not_sent/)

  // The campaign, and the assignment of the number to it.
  await requestCampaignReview(world, company)
  const [campaign] = campaigns
  if (campaign === undefined) throw new Error("Telnyx has no campaign")
  expect(campaign).toMatchObject({ brandId: brand["brandId"], embeddedLink: false })
  campaign["campaignStatus"] = "MNO_PROVISIONED"
  await notifyOf(campaign["webhookURL"], "10dlc.campaign.update")
  expect(assignments).toMatchObject([{ phoneNumber: company.number }])
  Object.assign(assignments[0] ?? {}, { assignmentStatus: "ASSIGNED" })
  await notifyOf(campaign["webhookURL"], "10dlc.phone_number.update")
  expect(await partStatusLine(world, company)).toBe(
    "business approved, campaign approved, number approved",
  )
  const { textId, message } = await company.send()
  expect([textId, message.from]).toEqual([expect.stringMatching(/^msg_/), company.number])
  expect(await reviewFeesOf(world, company)).toEqual([
    "brand_fee_low_volume 4500000 final",
    "campaign_fee 15000000 final",
  ])

  // A later suspension sends no webhook; the daily check finds it.
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
