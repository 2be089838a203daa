/** `PUT /api/v1/phone/pages`: saves all of how the pages of texting registration are. */
import { randomBytes } from "node:crypto"
import { isDeepStrictEqual } from "node:util"
import { COMPANY_SUBJECT } from "../../adapters/sealing/port.ts"
import type { SavePages } from "../../domain/registration/registration-commands.ts"
import { registrationOf } from "../../domain/registration/aggregates.ts"
import { writtenOf } from "../../domain/registration/registration-views.ts"
import { causeOf } from "../frame/routes/call.ts"
import type { Caller } from "../frame/routes/declare/route.ts"
import { route } from "../frame/routes/declare/route.ts"
import { invalid } from "../frame/routes/checks/7-values.ts"
import type { Ports } from "../frame/ports.ts"
import { connectedDomains, domainAbove } from "./page-domain.ts"
import { PAGES_URL, PagesReply, pagesAnswer } from "./pages-record.ts"
import { Pages } from "./pages.ts"
import { COMES_FIRST, registrationRefusal } from "./refused.ts"
import { savedOf } from "./saved.ts"

/** The preview is there at once for who saved it, unless the read models are far behind. */
const OWN_WRITE_WAIT_MS = 2_000

/** The route. */
export const savePages = route({
  name: "saveTextingPages",
  method: "PUT",
  url: PAGES_URL,
  group: "phone",
  summary: "Save how the pages of texting registration are",
  example: {
    body: {
      mode: "hosted",
      services: "appointments and repairs",
      offers: true,
      offersPerMonth: 4,
      optinPhone: false,
      optinPaper: false,
      supportPhone: "+14155550100",
      supportEmail: "help@acme.example",
    },
  },
  operation: "phone.registration.prepare",
  counted: true,
  body: Pages,
  reply: PagesReply,
  refuses: ["conflict"],
  says: { conflict: COMES_FIRST },
  specGap:
    "The specification does not show the verb: PUT, because it saves all of it. What is missing first is told as a 409 `conflict` with `missing`.",
  handle: async (ports, caller, { body }) => {
    const { companyId } = caller
    const { hostname = null } = body
    if (hostname !== null) {
      const domains = await connectedDomains(ports, companyId)
      if (domainAbove(domains, hostname) === null) {
        const fault = "Must be a connected domain of the company's, or a host name under one."
        return { ok: false, refusal: invalid({ hostname: fault }) }
      }
    }
    const former = await savedOf(ports, companyId)
    if (former.pages !== null && isDeepStrictEqual(former.pages.pages, body)) {
      // What did not change need not pass its check once more.
      return { ok: true, body: await pagesAnswer(ports, companyId, former.pages) }
    }
    const command = await commandOf(ports, caller, body)
    const stream = registrationOf(companyId)
    const done = await ports.runner.execute(stream, command, causeOf(caller), writtenOf)
    if (!done.accepted) return { ok: false, refusal: registrationRefusal(done.refusal) }
    const { position } = done
    if (position !== null) {
      await ports.projector.waitFor(position, OWN_WRITE_WAIT_MS, ["page-sites"])
    }
    const { pages: beside } = done.view
    const saved = beside === null ? null : { ...beside, pages: body }
    return { ok: true, body: await pagesAnswer(ports, companyId, saved), position }
  },
})

async function commandOf(
  { sealing }: Pick<Ports, "sealing">,
  caller: Caller,
  pages: Pages,
): Promise<SavePages> {
  const { mode, hostname = null } = pages
  const { keyId, personId } = caller.spender
  return {
    type: "SavePages",
    pages: await sealing.seal(caller.companyId, COMPANY_SUBJECT, JSON.stringify(pages)),
    // An own site is served by the company, also at a host name that was chosen before.
    mode,
    hostname: mode === "hosted" ? hostname : null,
    // Nobody is to find a preview by guessing.
    slug: randomBytes(10).toString("hex"),
    keyId,
    personId,
  }
}
