/** `GET /api/v1/affiliate`: what the company earns from its referrals. */
import { accessStreamOf } from "../../domain/access/aggregates.ts"
import { z } from "zod"
import { companyProfileOf } from "../../domain/access/access.ts"
import { route } from "../frame/routes/declare/route.ts"
import { dollarsSchema, isoTimeSchema } from "../frame/kernel/schema.ts"

const MINIMUM_DOLLARS = 50

const joined = "Whether the company takes part"
const minimum = dollarsSchema.describe("The minimum payout, dollars")

const Referral = z
  .object({
    company: z.string().describe("The name of the company that signed up"),
    signedUp: isoTimeSchema.describe("When it signed up"),
    state: z.string().describe("State of the referral"),
    underReview: z.boolean().describe("Whether it is reviewed before it counts"),
    earned: dollarsSchema.describe("What it has earned this company, dollars"),
  })
  .meta({ id: "Referral", description: "A company that this company referred" })

const Joined = z
  .object({
    joined: z.literal(true).describe(joined),
    link: z.string().describe("Companies that sign up with this link count as referrals"),
    status: z.enum(["active"]).describe("State of the participation"),
    clicks: z.int().describe("How often the link was followed"),
    referrals: z.array(Referral).describe("The referred companies"),
    earnings: z
      .object({
        onHold: dollarsSchema.describe("Earned, and may still be reversed, dollars"),
        readyToSend: dollarsSchema.describe("To be paid out next, dollars"),
        sentToProvider: dollarsSchema.describe("Sent to the payment provider, dollars"),
      })
      .describe("Earnings by state"),
    payouts: z
      .object({
        setUp: z.boolean().describe("Whether there is an account for payouts"),
        connectType: z.string().nullable().describe("The kind of that account; null for none"),
        enabled: z.boolean().describe("Whether the account can receive payouts"),
        next: isoTimeSchema.nullable().describe("When the next payout is; null if none is due"),
        minimum,
      })
      .describe("How earnings are paid out"),
  })
  .meta({ id: "AffiliateJoined", description: "The earnings of a company that takes part" })
const NotJoined = z
  .object({ joined: z.literal(false).describe(joined), minimum })
  .meta({ id: "AffiliateNotJoined", description: "The company does not take part" })
const Affiliate = z.discriminatedUnion("joined", [Joined, NotJoined])

export const readAffiliate = route({
  name: "readAffiliate",
  method: "GET",
  url: "/api/v1/affiliate",
  group: "affiliate",
  summary: "Read affiliate earnings",
  operation: "account.affiliate.read",
  isCounted: true,
  reply: Affiliate,
  readStreams: [accessStreamOf],
  specGap: "The specification does not show all earnings, nor what status and connectType can be.",
  handle: async (ports, { companyId }) => {
    const stream = accessStreamOf(companyId)
    const profile = await ports.runner.read(stream, companyProfileOf)
    const tag = profile?.affiliateTag ?? null
    if (tag === null) return { ok: true, body: { joined: false, minimum: MINIMUM_DOLLARS } }
    return {
      ok: true,
      body: {
        joined: true,
        link: `${ports.baseUrl()}/join/${tag}`,
        status: "active",
        clicks: 0,
        referrals: [],
        earnings: { onHold: 0, readyToSend: 0, sentToProvider: 0 },
        payouts: {
          setUp: false,
          connectType: null,
          enabled: false,
          next: null,
          minimum: MINIMUM_DOLLARS,
        },
      },
    }
  },
})
