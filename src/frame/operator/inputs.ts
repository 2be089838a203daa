/** Input fields that operations share, and the lookups of the things they name. */
import { erasedMessage } from "../../../adapters/sealing/port.ts"
import { COMPANIES_STREAM } from "../../../domain/company/aggregates.ts"
import { ledgerStreamOf } from "../../../domain/charging/aggregates.ts"
import { accessStreamOf } from "../../../domain/access/aggregates.ts"
import { z } from "zod"
import type { CommandOutcome } from "../writer/runner.ts"
import { findPerson } from "../../../domain/access/access.ts"
import { deletionOf } from "../../../domain/charging/deletion.ts"
import { companyByNameTag, isCompanyRegistered } from "../../../domain/company/companies.ts"
import type { Fact } from "../../../domain/kernel/decider.ts"
import type { CompanyId, KeyId, PersonId } from "../../../domain/kernel/ids.ts"
import { parseCompanyId, parseKeyId, parsePersonId } from "../../../domain/kernel/ids.ts"
import { microsFromDollars } from "../../../domain/kernel/money.ts"
import { companyOfKey } from "../../../projections/access/keys.ts"
import { companyOfPerson } from "../../../projections/access/people.ts"
import { INVALID_PHONE_NUMBER, phoneNumberFault } from "../kernel/phone-number-fault.ts"
import { offsetTimeSchema, parseFullNumber } from "../kernel/schema.ts"
import type { Ports } from "../ports.ts"
import { OperatorRefused } from "./operation.ts"
import { USAGE } from "./protocol.ts"
import type { OutputPage } from "./cli/render.ts"
import { renderTable } from "./cli/render.ts"

const OWN_WRITE_WAIT_MS = 5_000

/** The note in help texts about the unit of amounts. */
export const DOLLARS_NOTE =
  "Money options are US dollars (12.50; at most six decimals). With --json money is in micros, " +
  "millionths of a dollar."

/** Dollars in an operator's input, as whole micro-dollars. */
export const dollarsInput = z
  .string()
  .transform((text, context) => {
    const micros = microsFromDollars(text)
    if (micros !== null) return micros
    context.addIssue(`"${text}" is not an amount of dollars; write for example 12.50.`)
    return z.NEVER
  })
  .meta({ form: "dollars" })

/** A text; not empty on the command line. */
export const textInput = z
  .string()
  .refine((text) => text.isWellFormed() && !text.includes("\0"), "must be well-formed Unicode")
  .meta({ form: "text" })

export const timeInput = offsetTimeSchema("must be a time such as 2026-11-30T23:59:00Z").meta({
  form: "time",
})

export const monthInput = z
  .string()
  .regex(/^\d{4}-(0[1-9]|1[0-2])$/, "must be a month such as 2026-11")
  .meta({ description: "the month, as YYYY-MM", form: "month" })

/** The company, as an option. */
export const companyInput = z.string().meta({ description: "the company, by id or name" })

/** The company, as the argument after the command. */
export const companyArgument = companyInput.meta({ argument: "COMPANY" })

/**
 * Adds a check across fields, such as options that exclude one another.
 *
 * @param fault returns the message in the words of the command line, reported as wrong usage; null if valid
 */
export function withCrossFieldCheck<S extends z.ZodObject>(
  fields: S,
  fault: (input: z.output<S>) => string | null,
): S {
  return fields.superRefine((input, context) => {
    const message = fault(input)
    if (message !== null) context.addIssue({ code: "custom", message, path: [USAGE] })
  })
}

/** An id; not empty. */
export const idInput = z.string().min(1, "must not be empty")

/** An email address. */
export const emailInput = textInput.refine(
  (text) => /^[^\s@]+@[^\s@]+$/.test(text),
  "must be an email address",
)

export const channelNameInput = z
  .string()
  .regex(/^[a-z][a-z0-9-]{0,29}$/, "must be 1 to 30 small letters, digits and dashes")

/** Parses the phone number of an option. @throws OperatorRefused if it is not in E.164 */
export function requirePhoneNumber(option: string, text: string): string {
  const number = parseFullNumber(text)
  if (number !== null) return number
  const fault = phoneNumberFault(text) ?? INVALID_PHONE_NUMBER
  throw new OperatorRefused("bad_number", `${option}: ${fault}`)
}

/** Finds a company by its id or name. @throws OperatorRefused if there is none */
export async function findCompany(
  ports: Pick<Ports, "runner" | "sealing">,
  text: string,
): Promise<CompanyId> {
  const tag = companyNameTag(ports, text)
  const companyId = parseCompanyId(text)
  const found = await ports.runner.readLatest(COMPANIES_STREAM, (state) =>
    companyId !== null && isCompanyRegistered(state, companyId)
      ? companyId
      : companyByNameTag(state, tag),
  )
  if (found !== null) return found
  throw new OperatorRefused(
    "not_found",
    `There is no company ${text}. List them with "company list".`,
  )
}

/** Finds a company that is not erased. @throws OperatorRefused if it is, or there is none */
export async function findUnerasedCompany(
  ports: Pick<Ports, "runner" | "sealing">,
  text: string,
): Promise<CompanyId> {
  const companyId = await findCompany(ports, text)
  const deletion = await ports.runner.read(ledgerStreamOf(companyId), deletionOf)
  if (deletion?.isErasing !== true) return companyId
  throw new OperatorRefused("company_erased", erasedMessage(`The company ${companyId}`))
}

/** Finds a person of a company by id. @throws OperatorRefused if the company has none */
export async function findPersonOf(
  ports: Pick<Ports, "runner">,
  companyId: CompanyId,
  text: string,
): Promise<PersonId> {
  const personId = requirePersonId(text)
  const stream = accessStreamOf(companyId)
  const found = await ports.runner.readLatest(stream, (state) => findPerson(state, personId))
  if (found === null) throw personNotFound(text)
  return personId
}

/** Parses a person id. @throws OperatorRefused if it is not valid */
export function requirePersonId(text: string): PersonId {
  const personId = parsePersonId(text)
  if (personId === null) throw personNotFound(text)
  return personId
}

/** Returns the refusal of an unknown person. */
export function personNotFound(text: string): OperatorRefused {
  const message = `There is no person ${text}. List them with "person list --company COMPANY".`
  return new OperatorRefused("not_found", message)
}

/** Returns the tag under which a company's name is reserved. */
export function companyNameTag(ports: Pick<Ports, "sealing">, name: string): string {
  return ports.sealing.installationTag(name.trim().toLowerCase())
}

/** Finds a person and their company by id. @throws OperatorRefused if there is none */
export async function findCompanyOfPerson(
  ports: Pick<Ports, "projector" | "readAll" | "store">,
  text: string,
): Promise<{ readonly companyId: CompanyId; readonly personId: PersonId }> {
  const personId = requirePersonId(text)
  await ports.projector.waitUntilWritten(await ports.store.head(), OWN_WRITE_WAIT_MS, ["people"])
  const companyId = await companyOfPerson(ports.readAll, personId)
  if (companyId === null) throw personNotFound(text)
  return { companyId, personId }
}

/** Parses a key id. @throws OperatorRefused if it is not valid */
export function requireKeyId(text: string): KeyId {
  const keyId = parseKeyId(text)
  if (keyId === null) throw keyNotFound(text)
  return keyId
}

/** Returns the refusal of an unknown key. */
export function keyNotFound(text: string): OperatorRefused {
  const message = `There is no key ${text}. List them with "key list --company COMPANY".`
  return new OperatorRefused("not_found", message)
}

/** Finds a key and its company by id. @throws OperatorRefused if there is none */
export async function findCompanyOfKey(
  ports: Pick<Ports, "projector" | "readAll" | "store">,
  text: string,
): Promise<{ readonly companyId: CompanyId; readonly keyId: KeyId }> {
  const keyId = requireKeyId(text)
  await ports.projector.waitUntilWritten(await ports.store.head(), OWN_WRITE_WAIT_MS, ["keys"])
  const companyId = await companyOfKey(ports.readAll, keyId)
  if (companyId === null) throw keyNotFound(text)
  return { companyId, keyId }
}

/** Returns an accepted outcome; throws the refusal otherwise. @throws OperatorRefused with the refusal's code */
export function requireAccepted<E, R extends Fact & { readonly code: string }, V>(
  outcome: CommandOutcome<E, R, V>,
): Extract<CommandOutcome<E, R, V>, { accepted: true }> {
  if (outcome.accepted) return outcome
  const { refusal } = outcome
  const message = "message" in refusal ? String(refusal.message) : refusal.code
  throw new OperatorRefused(refusal.code, message)
}

/** Waits until the read models include everything stored so far. */
export async function waitForOwnWrites(ports: Pick<Ports, "projector" | "store">): Promise<void> {
  await ports.projector.waitUntilWritten(await ports.store.head(), OWN_WRITE_WAIT_MS)
}

/** Maximum and default length of a list. */
const MAX_LISTED = 1_000

export const listLimitInput = z
  .int()
  .positive()
  .max(MAX_LISTED)
  .default(MAX_LISTED)
  .meta({ description: "maximum number of rows" })

/** Renders a list as a table, with the option for the next page; `next` is null at the end. */
export function renderList(
  rows: readonly object[],
  next: string | number | null,
  page: OutputPage,
  what: string,
): string {
  const more = next === null ? "" : `There are more; continue with --before ${next}\n`
  return renderTable(rows, page, what) + more
}
