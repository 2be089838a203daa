/** `GET /api/v1/affiliate`: what the company earns by those it brings. */
import { accessOf } from "../../domain/access/aggregates.ts"
import { z } from "zod"
import { companyStanding } from "../../domain/access/access.ts"
import { route } from "../frame/calls/route.ts"
import { isoTime } from "../frame/kernel/schema.ts"

/** The least that is paid out, dollars. */
const MINIMUM_DOLLARS = 50

const dollars = z.number().meta({ description: "Dollars" })

const Joined = z.object({
  joined: z.literal(true),
  link: z.string().meta({ description: "Whoever signs up by it was brought by this company" }),
  status: z.enum(["active"]),
  clicks: z.int(),
  referrals: z.array(
    z.object({
      company: z.string(),
      signedUp: isoTime,
      state: z.string(),
      underReview: z.boolean(),
      earned: dollars,
    }),
  ),
  earnings: z.object({ onHold: dollars, readyToSend: dollars, sentToProvider: dollars }),
  payouts: z.object({
    setUp: z.boolean(),
    connectType: z.string().nullable(),
    enabled: z.boolean(),
    next: isoTime.nullable(),
    minimum: dollars,
  }),
})
const NotJoined = z.object({ joined: z.literal(false), minimum: dollars })
const Affiliate = z.discriminatedUnion("joined", [Joined, NotJoined])

/** The route. */
export const readAffiliate = route({
  method: "GET",
  url: "/api/v1/affiliate",
  group: "affiliate",
  summary: "Read affiliate earnings",
  operation: "account.affiliate.read",
  counted: true,
  reply: Affiliate,
  looks: [accessOf],
  specGap: "The specification does not show all earnings, nor what status and connectType can be.",
  handle: async (ports, { companyId }) => {
    const stream = accessOf(companyId)
    const standing = await ports.runner.read(stream, companyStanding)
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
          ...{ setUp: false, connectType: null, enabled: false, next: null },
          minimum: MINIMUM_DOLLARS,
        },
      },
    }
  },
})
