/** Companies and their cards, as an operator makes and shows them. */
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
    error: "a company's name has 1 to 80 characters, none of / : @, and does not begin with co_",
  })

const plan = z.enum(PLANS).meta({ description: "its plan, dollars a month", choices: PLANS })
const paymentSource = z
  .enum(["prepaid", "card"])
  .meta({ description: "what it pays from", takes: "how" })

const CreateCompany = z.object({
  name: companyName.meta({
    description: "its name, not yet taken",
    argument: "NAME",
    form: "text",
  }),
  withNumber: z
    .boolean()
    .default(true)
    .meta({ description: "without a phone number", flag: "number" }),
  plan: plan.default("payg"),
  pays: paymentSource.default("prepaid"),
  funds: dollarsInput.optional().meta({ description: "funds to begin with" }),
  ownerName: textInput.default("Owner").meta({ description: "the owner's name", takes: "name" }),
  ownerEmail: emailInput
    .default("owner@localhost")
    .meta({ description: "the owner's email", takes: "email" }),
})

const create = operation({
  name: "company create",
  summary: "make a company with its owner and one built-in test number",
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
      // The random id of another company: the next one will be free.
      if (!registered.accepted && registered.refusal.code === "id_taken") continue
      const { view: place } = requireAccepted(registered)
      if (place === null) throw new Error("a company that was registered has no place")
      await openCompany(ports, planned, place, cause)
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
    const standing = await ports.runner.readLatest(accessStreamOf(companyId), companyProfileOf)
    const stream = ledgerStreamOf(companyId)
    const account = await ports.runner.readLatest(stream, accountOf)
    const terms = await ports.runner.read(stream, creditTermsOf)
    return {
      companyId,
      name: standing === null ? null : await ports.sealing.unseal(companyId, standing.name),
      plan: standing?.plan ?? null,
      channel: standing?.channel ?? null,
      affiliate: standing !== null && standing.affiliateTag !== null,
      pays: standing?.pays ?? null,
      card: standing?.card ?? null,
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
 * From when on a deleted company's data is erased, whether that is under way, and when it was erased;
 * null where it is not deleted. It is under way until nothing of it is left to be done.
 */
async function toDeletionView({ runner, jobs }: AdminContext["ports"], companyId: CompanyId) {
  const deletion = await runner.read(ledgerStreamOf(companyId), deletionOf)
  if (deletion === null) return null
  const { erasureStartsAt, isErasing: isBegun } = deletion
  const shown = (at: number | null) => (at === null ? null : new Date(at).toISOString())
  const at = await runner.read(COMPANIES_STREAM, (state) => companyErasedAt(state, companyId))
  const isEnded = at !== null && !(await jobs.listNames("erase-company")).includes(companyId)
  return {
    deleteDataAfter: shown(erasureStartsAt),
    erasing: isBegun && !isEnded,
    erased: isEnded ? shown(at) : null,
  }
}

const Change = z.object({
  company: companyArgument,
  plan: plan.optional(),
  pays: paymentSource.optional(),
  prepaidOnly: z
    .enum(["on", "off"])
    .optional()
    .meta({ description: "whether it may only spend prepaid funds", takes: "on|off" }),
  creditLine: dollarsInput
    .optional()
    .meta({ description: "how much it may spend beyond its funds" }),
  channel: channelNameInput.optional().meta({ description: "where its apps are updated from" }),
})

const change = operation({
  name: "company change",
  summary: "change a company's plan and how it pays",
  notes: [
    "A prepaid-only company spends nothing beyond its funds and is shown no way to pay.",
    "A credit line is for companies that pay by card.",
    DOLLARS_NOTE,
  ],
  example: "company change acme --plan 79 --pays card --credit-line 100",
  changes: true,
  input: withCrossFieldCheck(Change, ({ company: _company, ...changed }) =>
    Object.values(changed).every((word) => word === undefined)
      ? "say what to change: --plan, --pays, --prepaid-only, --credit-line or --channel"
      : null,
  ),
  consoleAccess: {
    roles: OWNER_OR_ADMIN,
    denialReason: ({ input: { creditLine, prepaidOnly } }) =>
      creditLine === undefined && prepaidOnly === undefined
        ? null
        : "What a company may spend beyond its funds is said by whoever runs this service.",
  },
  run: async ({ ports, cause }, input) => {
    const { runner } = ports
    const companyId = await findCompany(ports, input.company)
    const [access, ledger] = [accessStreamOf(companyId), ledgerStreamOf(companyId)]
    const standing = await runner.readLatest(access, companyProfileOf)
    const terms = await runner.readLatest(ledger, creditTermsOf)
    const paying = {
      plan: input.plan ?? standing?.plan ?? "payg",
      pays: input.pays ?? standing?.pays ?? "prepaid",
    }
    const creditLineMicros = input.creditLine ?? terms.creditLineMicros
    const prepaidOnly =
      input.prepaidOnly === undefined ? terms.prepaidOnly : input.prepaidOnly === "on"
    if (creditLineMicros > 0 && paying.pays !== "card") {
      const message =
        "Only a company that pays by card has a credit line: " +
        "give --pays card, or --credit-line 0."
      throw new OperatorRefused("validation", message)
    }
    // First the money, which may be refused: then nothing has changed.
    const spending = { type: "ChangeCreditTerms" as const, prepaidOnly, creditLineMicros }
    requireAccepted(await runner.execute(ledger, spending, cause))
    const planning = { type: "ChangePlan" as const, ...paying }
    requireAccepted(await runner.execute(access, planning, cause))
    const channel = input.channel ?? standing?.channel ?? null
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

/** Operations on companies. */
export const companyOperations: readonly AdminOperation[] = [
  create,
  show,
  change,
  list,
  ...companyStatusOperations,
]
