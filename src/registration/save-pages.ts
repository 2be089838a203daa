/** `PUT /api/v1/phone/pages`: saves all of how the pages of texting registration are. */
import { randomBytes } from "node:crypto"
import { isDeepStrictEqual } from "node:util"
import { COMPANY_SUBJECT } from "../../adapters/sealing/port.ts"
import type { SavePages } from "../../domain/registration/registration-commands.ts"
import { registrationStreamOf } from "../../domain/registration/aggregates.ts"
import { registrationDraftOf } from "../../domain/registration/registration-views.ts"
import { causeOf } from "../frame/routes/api-call.ts"
import type { Caller } from "../frame/routes/declare/route.ts"
import { route } from "../frame/routes/declare/route.ts"
import { invalidRefusal } from "../frame/routes/checks/7-values.ts"
import type { Ports } from "../frame/ports.ts"
import { readConnectedDomains, enclosingDomainOf } from "./page-domain.ts"
import { PAGES_URL, TextingPagesReply, readPagesReply } from "./pages-reply.ts"
import { TextingPages } from "./texting-pages.ts"
import { MISSING_STEPS_MESSAGE, registrationRefusal } from "./registration-refusals.ts"
import { readSavedRegistration } from "./saved-registration.ts"

/** The preview is there at once for who saved it, unless the read models are far behind. */
const OWN_WRITE_WAIT_MS = 2_000

/** The route. */
export const saveTextingPages = route({
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
  isCounted: true,
  body: TextingPages,
  reply: TextingPagesReply,
  refusalCodes: ["conflict"],
  refusalMessages: { conflict: MISSING_STEPS_MESSAGE },
  specGap:
    "The specification does not show the verb: PUT, because it saves all of it. What is missing first is told as a 409 `conflict` with `missing`.",
  handle: async (ports, caller, { body }) => {
    const { companyId } = caller
    const { hostname = null } = body
    if (hostname !== null) {
      const domains = await readConnectedDomains(ports, companyId)
      if (enclosingDomainOf(domains, hostname) === null) {
        const fault = "Must be a connected domain of the company's, or a host name under one."
        return { ok: false, refusal: invalidRefusal({ hostname: fault }) }
      }
    }
    const former = await readSavedRegistration(ports, companyId)
    if (former.pages !== null && isDeepStrictEqual(former.pages.pages, body)) {
      // What did not change need not pass its check once more.
      return { ok: true, body: await readPagesReply(ports, companyId, former.pages) }
    }
    const command = await commandOf(ports, caller, body)
    const stream = registrationStreamOf(companyId)
    const done = await ports.runner.execute(stream, command, causeOf(caller), registrationDraftOf)
    if (!done.accepted) return { ok: false, refusal: registrationRefusal(done.refusal) }
    const { position } = done
    if (position !== null) {
      await ports.projector.waitUntilWritten(position, OWN_WRITE_WAIT_MS, ["page-sites"])
    }
    const { pages: beside } = done.view
    const saved = beside === null ? null : { ...beside, pages: body }
    return { ok: true, body: await readPagesReply(ports, companyId, saved), position }
  },
})

async function commandOf(
  { sealing }: Pick<Ports, "sealing">,
  caller: Caller,
  pages: TextingPages,
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
