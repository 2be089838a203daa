/** `GET /api/v1/phone/pages`: how the pages of texting registration are, and where. */
import { registrationOf } from "../../domain/registration/aggregates.ts"
import { route } from "../frame/routes/declare/route.ts"
import { PAGES_URL, PagesReply, pagesAnswer } from "./pages-record.ts"
import { savedOf } from "./saved.ts"

/** The route. */
export const readPages = route({
  name: "readTextingPages",
  method: "GET",
  url: PAGES_URL,
  group: "phone",
  summary: "Read how the pages of texting registration are",
  operation: "phone.overview.read",
  counted: true,
  reply: PagesReply,
  looks: [registrationOf],
  specGap: "Where nothing was saved, each setting is null.",
  handle: async (ports, { companyId }) => {
    const { pages } = await savedOf(ports, companyId)
    return { ok: true, body: await pagesAnswer(ports, companyId, pages) }
  },
})
