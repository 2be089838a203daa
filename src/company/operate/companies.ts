/** Companies and their cards, as an operator makes and shows them. */
import { COMPANIES } from "../../../domain/company/aggregates.ts"
import { accessOf } from "../../../domain/access/aggregates.ts"
import { ledgerOf } from "../../../domain/charging/aggregates.ts"
import { z } from "zod"
import { companyStanding } from "../../../domain/access/access.ts"
import { PLANS } from "../../../domain/access/access-events.ts"
import { deletionOf } from "../../../domain/charging/deletion.ts"
import { accountOf, termsOf } from "../../../domain/charging/ledger-views.ts"
import type { CompanyPlan } from "../../../domain/company/companies.ts"
import { companyPlace, erasedAt } from "../../../domain/company/companies.ts"
import type { CompanyId } from "../../../domain/kernel/ids.ts"
import { companyIdOfTag } from "../../../domain/kernel/ids.ts"
import { listCompanies } from "../../../projections/company/companies.ts"
import { COMPANY_SUBJECT } from "../../../adapters/sealing/port.ts"
import { newId, randomTag } from "../../frame/kernel/ids.ts"
import { deleteCompany, restoreCompany } from "../reactions/company-deletion.ts"
import { openCompany } from "../reactions/open-company.ts"
import {
  accepted,
  channelName,
  dollars,
  email,
  findCompany,
  nameTagOf,
  showWrites,
  words,
} from "../../frame/operator/inputs.ts"
import type { AdminContext, AdminOperation } from "../../frame/operator/operation.ts"
import { OperatorRefused, operation } from "../../frame/operator/operation.ts"

const companyName = words
  .transform((name) => name.trim())
  .refine((name) => /^[^\p{C}/:@]{1,80}$/u.test(name) && !name.startsWith("co_"), {
    error: "a company's name has 1 to 80 characters, none of / : @, and does not begin with co_",
  })

const CreateCompany = z.object({
  name: companyName,
  withNumber: z.boolean().default(true),
  plan: z.enum(PLANS).default("payg"),
  pays: z.enum(["prepaid", "card"]).default("prepaid"),
  funds: dollars.optional(),
  ownerName: words.default("Owner"),
  ownerEmail: email.default("owner@localhost"),
})

const create = operation({
  name: "company create",
  input: CreateCompany,
  run: async ({ ports, cause }, input) => {
    const { runner } = ports
    for (;;) {
      const plan = await planOf(ports, input)
      const registered = await runner.execute(
        COMPANIES,
        { type: "RegisterCompany", ...plan },
        cause,
        (state) => companyPlace(state, plan.companyId),
      )
      // The random id of another company: the next one will be free.
      if (!registered.accepted && registered.refusal.code === "id_taken") continue
      const { view: place } = accepted(registered)
      if (place === null) throw new Error("a company that was registered has no place")
      await openCompany(ports, plan, place, cause)
      await showWrites(ports)
      return { companyId: plan.companyId, ownerId: plan.owner.personId, name: input.name }
    }
  },
})

async function planOf(
  ports: AdminContext["ports"],
  input: z.infer<typeof CreateCompany>,
): Promise<CompanyPlan> {
  const { sealing } = ports
  const companyId = companyIdOfTag(randomTag(6))
  const personId = newId("per")
  return {
    companyId,
    name: await sealing.seal(companyId, COMPANY_SUBJECT, input.name),
    nameTag: nameTagOf(ports, input.name),
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
  input: z.object({ company: z.string() }),
  run: async ({ ports }, { company }) => {
    const companyId = await findCompany(ports, company)
    const standing = await ports.runner.lookAtTail(accessOf(companyId), companyStanding)
    const stream = ledgerOf(companyId)
    const account = await ports.runner.lookAtTail(stream, accountOf)
    const terms = await ports.runner.look(stream, termsOf)
    return {
      companyId,
      name: standing === null ? null : await ports.sealing.open(companyId, standing.name),
      plan: standing?.plan ?? null,
      channel: standing?.channel ?? null,
      affiliate: standing !== null && standing.affiliateTag !== null,
      pays: standing?.pays ?? null,
      card: standing?.card ?? null,
      balanceMicros: account.fundsMicros,
      creditLineMicros: terms.creditLineMicros,
      prepaidOnly: terms.prepaidOnly,
      locked: account.locked,
      deleted: await deletionShown(ports, companyId),
    }
  },
})

/**
 * From when on a deleted company's data is erased, whether that is under way, and when it was erased;
 * null where it is not deleted. It is under way until nothing of it is left to be done.
 */
async function deletionShown({ runner, work }: AdminContext["ports"], companyId: CompanyId) {
  const deletion = await runner.look(ledgerOf(companyId), deletionOf)
  if (deletion === null) return null
  const { erasedFrom, erasing: isBegun } = deletion
  const shown = (at: number | null) => (at === null ? null : new Date(at).toISOString())
  const at = await runner.look(COMPANIES, (state) => erasedAt(state, companyId))
  const isEnded = at !== null && !(await work.names("erase-company")).includes(companyId)
  return {
    deleteDataAfter: shown(erasedFrom),
    erasing: isBegun && !isEnded,
    erased: isEnded ? shown(at) : null,
  }
}

const change = operation({
  name: "company change",
  input: z.object({
    company: z.string(),
    plan: z.enum(PLANS).optional(),
    pays: z.enum(["prepaid", "card"]).optional(),
    prepaidOnly: z.enum(["on", "off"]).optional(),
    creditLine: dollars.optional(),
    channel: channelName.optional(),
  }),
  run: async ({ ports, cause }, input) => {
    const { runner } = ports
    const companyId = await findCompany(ports, input.company)
    const [access, ledger] = [accessOf(companyId), ledgerOf(companyId)]
    const standing = await runner.lookAtTail(access, companyStanding)
    const terms = await runner.lookAtTail(ledger, termsOf)
    const plan = input.plan ?? standing?.plan ?? "payg"
    const pays = input.pays ?? standing?.pays ?? "prepaid"
    const creditLineMicros = input.creditLine ?? terms.creditLineMicros
    const prepaidOnly =
      input.prepaidOnly === undefined ? terms.prepaidOnly : input.prepaidOnly === "on"
    if (creditLineMicros > 0 && pays !== "card") {
      const message =
        "Only a company that pays by card has a credit line: " +
        "give --pays card, or --credit-line 0."
      throw new OperatorRefused("validation", message)
    }
    // First the money, which may be refused: then nothing has changed.
    const spending = { type: "ChangeTerms" as const, prepaidOnly, creditLineMicros }
    accepted(await runner.execute(ledger, spending, cause))
    const paying = { type: "ChangePlan" as const, plan, pays }
    accepted(await runner.execute(access, paying, cause))
    const channel = input.channel ?? standing?.channel ?? null
    if (channel !== null) {
      const updating = { type: "ChangeChannel" as const, channel }
      accepted(await runner.execute(access, updating, cause))
    }
    return { companyId, plan, pays, prepaidOnly, creditLineMicros, channel }
  },
})

const list = operation({
  name: "company list",
  input: z.object({}),
  run: async ({ ports }) => {
    await showWrites(ports)
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

const lock = (name: "company lock" | "company unlock", type: "LockAccount" | "UnlockAccount") =>
  operation({
    name,
    input: z.object({ company: z.string() }),
    run: async ({ ports, cause }, { company }) => {
      const companyId = await findCompany(ports, company)
      const stream = ledgerOf(companyId)
      await ports.runner.execute(stream, { type }, cause)
      return { companyId, locked: type === "LockAccount" }
    },
  })

const remove = operation({
  name: "company delete",
  input: z.object({ company: z.string() }),
  run: async ({ ports, cause }, { company }) => {
    const companyId = await findCompany(ports, company)
    const { erasedFrom, keysSwitchedOff } = await deleteCompany(ports, companyId, cause)
    return { companyId, deleteDataAfter: new Date(erasedFrom).toISOString(), keysSwitchedOff }
  },
})

const restore = operation({
  name: "company restore",
  input: z.object({ company: z.string() }),
  run: async ({ ports, cause }, { company }) => {
    const companyId = await findCompany(ports, company)
    const refused = await restoreCompany(ports, companyId, cause)
    if (refused !== null) {
      const message = "message" in refused ? refused.message : refused.code
      throw new OperatorRefused(refused.code, message)
    }
    await showWrites(ports)
    return { companyId, restored: true }
  },
})

/** Operations on companies. */
export const companyOperations: readonly AdminOperation[] = [
  create,
  show,
  change,
  list,
  lock("company lock", "LockAccount"),
  lock("company unlock", "UnlockAccount"),
  remove,
  restore,
]
