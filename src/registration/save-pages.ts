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

/** Lets the caller see its own preview immediately, unless the read models lag far behind. */
const OWN_WRITE_WAIT_MS = 2_000

export const saveTextingPages = route({
  name: "saveTextingPages",
  method: "PUT",
  url: PAGES_URL,
  group: "phone",
  summary: "Save the pages of the texting registration",
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
    "The specification does not show the method: PUT, because it replaces all settings. Missing earlier steps are a 409 `conflict` with `missing`.",
  handle: async (ports, caller, { body }) => {
    const { companyId } = caller
    const { hostname = null } = body
    if (hostname !== null) {
      const domains = await readConnectedDomains(ports, companyId)
      if (enclosingDomainOf(domains, hostname) === null) {
        const fault = "Must be a connected domain, or a host name under one."
        return { ok: false, refusal: invalidRefusal({ hostname: fault }) }
      }
    }
    const former = await readSavedRegistration(ports, companyId)
    if (former.pages !== null && isDeepStrictEqual(former.pages.pages, body)) {
      // Unchanged pages need no new check.
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
    const { pages: savedEntry } = done.view
    const saved = savedEntry === null ? null : { ...savedEntry, pages: body }
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
    // The company serves an own site itself, even if a host name was saved before.
    mode,
    hostname: mode === "hosted" ? hostname : null,
    // Random, so that a preview cannot be found by guessing.
    slug: randomBytes(10).toString("hex"),
    keyId,
    personId,
  }
}
