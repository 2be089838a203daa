import { registrationStreamOf } from "../../domain/registration/aggregates.ts"
import { route } from "../frame/routes/declare/route.ts"
import { PAGES_URL, TextingPagesReply, readPagesReply } from "./pages-reply.ts"
import { readSavedRegistration } from "./saved-registration.ts"

export const readTextingPages = route({
  name: "readTextingPages",
  method: "GET",
  url: PAGES_URL,
  group: "phone",
  summary: "Read the pages of the texting registration",
  operation: "phone.overview.read",
  isCounted: true,
  reply: TextingPagesReply,
  readStreams: [registrationStreamOf],
  specGap: "Before anything is saved, each setting is null.",
  handle: async (ports, { companyId }) => {
    const { pages } = await readSavedRegistration(ports, companyId)
    return { ok: true, body: await readPagesReply(ports, companyId, pages) }
  },
})
