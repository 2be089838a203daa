/** `GET /api/v1/affiliate`: what the company earns by those it brings. */
import { accessStreamOf } from "../../domain/access/aggregates.ts"
import { z } from "zod"
import { companyProfileOf } from "../../domain/access/access.ts"
import { route } from "../frame/routes/declare/route.ts"
import { dollarsSchema, isoTimeSchema } from "../frame/kernel/schema.ts"

/** The least that is paid out, dollars. */
const MINIMUM_DOLLARS = 50

const joined = "Whether the company takes part"
const minimum = dollarsSchema.describe("The least that is paid out, dollars")

const Referral = z
  .object({
    company: z.string().describe("The name of the company that signed up"),
    signedUp: isoTimeSchema.describe("When it did"),
    state: z.string().describe("How it stands"),
    underReview: z.boolean().describe("Whether somebody looks at it before it counts"),
    earned: dollarsSchema.describe("What it has earned this company, dollars"),
  })
  .meta({ id: "Referral", description: "A company that this one brought" })

const Joined = z
  .object({
    joined: z.literal(true).describe(joined),
    link: z.string().describe("Whoever signs up by it was brought by this company"),
    status: z.enum(["active"]).describe("How taking part stands"),
    clicks: z.int().describe("How often the link was followed"),
    referrals: z.array(Referral).describe("Who was brought"),
    earnings: z
      .object({
        onHold: dollarsSchema.describe("Earned, and may still be taken back, dollars"),
        readyToSend: dollarsSchema.describe("To be paid out next, dollars"),
        sentToProvider: dollarsSchema.describe("Handed to the payment provider, dollars"),
      })
      .describe("What was earned, by where it is"),
    payouts: z
      .object({
        setUp: z.boolean().describe("Whether there is an account to pay to"),
        connectType: z.string().nullable().describe("The kind of that account; null for none"),
        enabled: z.boolean().describe("Whether it can be paid to"),
        next: isoTimeSchema.nullable().describe("When the next one is; null where none is due"),
        minimum,
      })
      .describe("How earnings are paid out"),
  })
  .meta({ id: "AffiliateJoined", description: "The earnings of a company that takes part" })
const NotJoined = z
  .object({ joined: z.literal(false).describe(joined), minimum })
  .meta({ id: "AffiliateNotJoined", description: "The company does not take part" })
const Affiliate = z.discriminatedUnion("joined", [Joined, NotJoined])

/** The route. */
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
    const standing = await ports.runner.read(stream, companyProfileOf)
    const tag = standing?.affiliateTag ?? null
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
