/** Operations that create, show and change companies. */
import { COMPANIES_STREAM } from "../../../domain/company/aggregates.ts"
import { accessStreamOf } from "../../../domain/access/aggregates.ts"
import { ledgerStreamOf } from "../../../domain/charging/aggregates.ts"
import { z } from "zod"
import { companyProfileOf } from "../../../domain/access/access.ts"
import { PLANS } from "../../../domain/access/access-events.ts"
import { deletionOf } from "../../../domain/charging/deletion.ts"
import { accountOf, lowFundsAlertOf, creditTermsOf } from "../../../domain/charging/ledger-views.ts"
import type { CompanyRegistration } from "../../../domain/company/companies.ts"
import { registrationRevisionOf, companyErasedAt } from "../../../domain/company/companies.ts"
import type { CompanyId } from "../../../domain/kernel/ids.ts"
import { companyIdFromTag } from "../../../domain/kernel/ids.ts"
import { listCompanies } from "../../../projections/company/companies.ts"
import { COMPANY_SUBJECT } from "../../../adapters/sealing/port.ts"
import { newId, randomTag } from "../../frame/kernel/ids.ts"
import { companyStatusOperations } from "./company-status.ts"
import { openCompany } from "../reactions/open-company.ts"
import {
  DOLLARS_NOTE,
  requireAccepted,
  channelNameInput,
  companyArgument,
  dollarsInput,
  emailInput,
  findCompany,
  companyNameTag,
  waitForOwnWrites,
  withCrossFieldCheck,
  textInput,
} from "../../frame/operator/inputs.ts"
import type { AdminContext, AdminOperation } from "../../frame/operator/operation.ts"
import { OWNER_OR_ADMIN, OperatorRefused, operation } from "../../frame/operator/operation.ts"

const companyName = textInput
  .transform((name) => name.trim())
  .refine((name) => /^[^\p{C}/:@]{1,80}$/u.test(name) && !name.startsWith("co_"), {
    error: "a company's name has 1 to 80 characters, without / : @, and does not begin with co_",
  })

const plan = z.enum(PLANS).meta({
  description: "its plan, dollars a month; the ledger does not charge plan fees",
  choices: PLANS,
})
const paymentSource = z
  .enum(["prepaid", "card"])
  .meta({ description: "what it pays from", takes: "how" })

const CreateCompany = z.object({
  name: companyName.meta({
    description: "its name, which must be unique",
    argument: "NAME",
    form: "text",
  }),
  withNumber: z
    .boolean()
    .default(true)
    .meta({ description: "do not create a test phone number", flag: "number" }),
  plan: plan.default("payg"),
  pays: paymentSource.default("prepaid"),
  funds: dollarsInput.optional().meta({ description: "opening funds" }),
  ownerName: textInput.default("Owner").meta({ description: "the owner's name", takes: "name" }),
  ownerEmail: emailInput
    .default("owner@localhost")
    .meta({ description: "the owner's email", takes: "email" }),
})

const create = operation({
  name: "company create",
  summary: "create a company with its owner and a built-in test number",
  notes: [DOLLARS_NOTE],
  example: "company create acme --plan payg --pays prepaid --funds 50",
  changes: true,
  createsInstallation: true,
  input: CreateCompany,
  run: async ({ ports, cause }, input) => {
    const { runner } = ports
    for (;;) {
      const planned = await planCompany(ports, input)
      const { companyId, owner } = planned
      const registered = await runner.execute(
        COMPANIES_STREAM,
        { type: "RegisterCompany", ...planned },
        cause,
        (state) => registrationRevisionOf(state, companyId),
      )
      // The random id belongs to another company: try another one.
      if (!registered.accepted && registered.refusal.code === "id_taken") continue
      const { view: registrationIndex } = requireAccepted(registered)
      if (registrationIndex === null)
        throw new Error(`${companyId} was registered without an index`)
      await openCompany(ports, planned, registrationIndex, cause)
      await waitForOwnWrites(ports)
      return { companyId, ownerId: owner.personId, name: input.name }
    }
  },
})

async function planCompany(
  ports: AdminContext["ports"],
  input: z.infer<typeof CreateCompany>,
): Promise<CompanyRegistration> {
  const { sealing } = ports
  const companyId = companyIdFromTag(randomTag(6))
  const personId = newId("per")
  return {
    companyId,
    name: await sealing.seal(companyId, COMPANY_SUBJECT, input.name),
    nameTag: companyNameTag(ports, input.name),
    plan: input.plan,
    pays: input.pays,
    fundsMicros: input.funds ?? 0,
    withNumber: input.withNumber,
    owner: {
      personId,
      name: await sealing.seal(companyId, personId, input.ownerName),
      email: await sealing.seal(companyId, personId, input.ownerEmail),
      emailTag: await sealing.tag(companyId, input.ownerEmail.toLowerCase()),
    },
  }
}

const show = operation({
  name: "company show",
  summary: "show a company: plan, card, balance, lock",
  notes: ["The balance is US dollars; with --json it is micros, millionths of a dollar."],
  example: "company show acme",
  input: z.object({ company: companyArgument }),
  consoleAccess: { permission: "See billing" },
  run: async ({ ports }, { company }) => {
    const companyId = await findCompany(ports, company)
    const profile = await ports.runner.readLatest(accessStreamOf(companyId), companyProfileOf)
    const stream = ledgerStreamOf(companyId)
    const account = await ports.runner.readLatest(stream, accountOf)
    const terms = await ports.runner.read(stream, creditTermsOf)
    return {
      companyId,
      name: profile === null ? null : await ports.sealing.unseal(companyId, profile.name),
      plan: profile?.plan ?? null,
      channel: profile?.channel ?? null,
      affiliate: profile !== null && profile.affiliateTag !== null,
      pays: profile?.pays ?? null,
      card: profile?.card ?? null,
      balanceMicros: account.fundsMicros,
      noticeBelowMicros: await ports.runner.read(stream, lowFundsAlertOf),
      creditLineMicros: terms.creditLineMicros,
      prepaidOnly: terms.prepaidOnly,
      locked: account.locked,
      deleted: await toDeletionView(ports, companyId),
    }
  },
})

/**
 * Returns when a deleted company's data is erased, whether the erasure is running, and when it
 * ended; null if the company is not deleted. The erasure runs until its job is gone.
 */
async function toDeletionView({ runner, jobs }: AdminContext["ports"], companyId: CompanyId) {
  const deletion = await runner.read(ledgerStreamOf(companyId), deletionOf)
  if (deletion === null) return null
  const { erasureStartsAt, isErasing: isBegun } = deletion
  const isoTime = (at: number | null) => (at === null ? null : new Date(at).toISOString())
  const at = await runner.read(COMPANIES_STREAM, (state) => companyErasedAt(state, companyId))
  const isEnded = at !== null && !(await jobs.listNames("erase-company")).includes(companyId)
  return {
    deleteDataAfter: isoTime(erasureStartsAt),
    erasing: isBegun && !isEnded,
    erased: isEnded ? isoTime(at) : null,
  }
}

const Change = z.object({
  company: companyArgument,
  plan: plan.optional(),
  pays: paymentSource.optional(),
  prepaidOnly: z
    .enum(["on", "off"])
    .optional()
    .meta({ description: "whether it may spend prepaid funds only", takes: "on|off" }),
  creditLine: dollarsInput.optional().meta({ description: "how far below zero its funds may go" }),
  channel: channelNameInput.optional().meta({ description: "the update channel of its apps" }),
})

const change = operation({
  name: "company change",
  summary: "change a company's plan and how it pays",
  notes: [
    "A prepaid-only company cannot spend more than its funds and is not offered a card payment.",
    "Only a company that pays by card can have a credit line.",
    DOLLARS_NOTE,
  ],
  example: "company change acme --plan 79 --pays card --credit-line 100",
  changes: true,
  input: withCrossFieldCheck(Change, ({ company: _company, ...changed }) =>
    Object.values(changed).every((word) => word === undefined)
      ? "pass at least one of --plan, --pays, --prepaid-only, --credit-line and --channel"
      : null,
  ),
  consoleAccess: {
    roles: OWNER_OR_ADMIN,
    denialReason: ({ input: { creditLine, prepaidOnly } }) =>
      creditLine === undefined && prepaidOnly === undefined
        ? null
        : "Only the operator of this service can change a credit line or prepaid-only mode.",
  },
  run: async ({ ports, cause }, input) => {
    const { runner } = ports
    const companyId = await findCompany(ports, input.company)
    const [access, ledger] = [accessStreamOf(companyId), ledgerStreamOf(companyId)]
    const profile = await runner.readLatest(access, companyProfileOf)
    const terms = await runner.readLatest(ledger, creditTermsOf)
    const paying = {
      plan: input.plan ?? profile?.plan ?? "payg",
      pays: input.pays ?? profile?.pays ?? "prepaid",
    }
    const creditLineMicros = input.creditLine ?? terms.creditLineMicros
    const prepaidOnly =
      input.prepaidOnly === undefined ? terms.prepaidOnly : input.prepaidOnly === "on"
    if (creditLineMicros > 0 && paying.pays !== "card") {
      const message =
        "Only a company that pays by card can have a credit line. " +
        "Pass --pays card, or --credit-line 0."
      throw new OperatorRefused("validation", message)
    }
    // The credit terms come first, because they can be rejected: then nothing has changed.
    const spending = { type: "ChangeCreditTerms" as const, prepaidOnly, creditLineMicros }
    requireAccepted(await runner.execute(ledger, spending, cause))
    const planning = { type: "ChangePlan" as const, ...paying }
    requireAccepted(await runner.execute(access, planning, cause))
    const channel = input.channel ?? profile?.channel ?? null
    if (channel !== null) {
      const updating = { type: "ChangeChannel" as const, channel }
      requireAccepted(await runner.execute(access, updating, cause))
    }
    return { companyId, ...paying, prepaidOnly, creditLineMicros, channel }
  },
})

const list = operation({
  name: "company list",
  summary: "list all companies",
  example: "company list --json",
  input: z.object({}),
  run: async ({ ports }) => {
    await waitForOwnWrites(ports)
    const rows = await listCompanies(ports.readAll)
    return {
      companies: rows.map((row) => ({
        companyId: row.company_id,
        name: row.name,
        registeredAt: row.registered_at.toISOString(),
      })),
    }
  },
})

export const companyOperations: readonly AdminOperation[] = [
  create,
  show,
  change,
  list,
  ...companyStatusOperations,
]
