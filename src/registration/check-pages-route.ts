import { z } from "zod"
import { APP_ADDRESS_STATUSES } from "../../domain/domains/domain-events.ts"
import { registrationDraftOf } from "../../domain/registration/registration-views.ts"
import { registrationStreamOf } from "../../domain/registration/aggregates.ts"
import { causeOf } from "../frame/routes/api-call.ts"
import { route } from "../frame/routes/declare/route.ts"
import { checkPages } from "./check-pages.ts"
import { readDomainOfPages } from "./page-domain.ts"
import { missingStepsIn } from "./campaign-inputs.ts"
import type { PageProblem } from "./page-problem-messages.ts"
import { PAGE_PROBLEMS } from "./page-problem-messages.ts"
import { PAGE_NAMES } from "./texting-pages.ts"
import {
  MISSING_STEPS_MESSAGE,
  missingStepsRefusal,
  registrationRefusal,
} from "./registration-refusals.ts"
import { unsealRegistration } from "./saved-registration.ts"

const CODES = Object.keys(PAGE_PROBLEMS) as [PageProblem, ...PageProblem[]]

const PagesCheck = z
  .object({
    passed: z.boolean().describe("Whether carriers would accept the pages"),
    problems: z
      .array(
        z.object({
          page: z.enum(PAGE_NAMES).describe("The page"),
          code: z.enum(CODES).describe("Code of the problem"),
          message: z.string().describe("Description of the problem"),
        }),
      )
      .describe("Problems that carriers would reject; empty if the pages passed"),
    domainStatus: z
      .enum(["not_connected", ...APP_ADDRESS_STATUSES])
      .nullable()
      .describe(
        "Status of the domain of hosted pages, which pass only if it is `live`; null for an own site",
      ),
    domainError: z.string().nullable().describe("The problem of the domain, or null"),
  })
  .meta({ id: "PagesCheck", description: "The result of a page check" })

/** Checks the pages as carriers do, and records the problems. */
export const checkPagesRoute = route({
  name: "checkPages",
  method: "POST",
  url: "/api/v1/phone/pages/check",
  group: "phone",
  summary: "Check the pages as carriers do",
  operation: "phone.registration.prepare",
  isCounted: true,
  reply: PagesCheck,
  refusalCodes: ["conflict"],
  refusalMessages: { conflict: MISSING_STEPS_MESSAGE },
  readStreams: [registrationStreamOf],
  specGap:
    "The specification does not show the method: POST, because each call reads the pages again. An own site is read by https from public addresses only, within 15 seconds and up to 1 MB a page.",
  handle: async (ports, caller) => {
    const { companyId } = caller
    const stream = registrationStreamOf(companyId)
    const written = await ports.runner.read(stream, registrationDraftOf)
    const { business, pages } = await unsealRegistration(ports, companyId, written)
    if (business === null || pages === null || written.pages === null) {
      return { ok: false, refusal: missingStepsRefusal(missingStepsIn({ business, pages })) }
    }
    const domain = await readDomainOfPages(ports, companyId, pages)
    const isLive = domain?.status === "live"
    const { problems, hashes } = await checkPages(ports, { business, pages }, isLive)
    const found = problems.map(({ page, code }) => ({ page, code }))
    const of = { type: "RecordPagesCheck", pages: written.pages.sealed } as const
    const command = { ...of, problems: found, read: hashes }
    const done = await ports.runner.execute(stream, command, causeOf(caller))
    if (!done.accepted) return { ok: false, refusal: registrationRefusal(done.refusal) }
    const passed = problems.length === 0
    const domainFields = {
      domainStatus: domain?.status ?? null,
      domainError: domain?.error ?? null,
    }
    const body = { passed, problems: [...problems], ...domainFields }
    return { ok: true, body, position: done.position }
  },
})
