import { z } from "zod"
import { COMPANY_SUBJECT } from "../../../adapters/sealing/port.ts"
import type { CompanyId } from "../../../domain/kernel/ids.ts"
import { leadsStreamOf } from "../../../domain/leads/aggregates.ts"
import type { FormId } from "../../../domain/leads/lead-events.ts"
import { parseFormId } from "../../../domain/leads/lead-events.ts"
import type { FormRow } from "../../../projections/leads/forms.ts"
import { findForm, listForms } from "../../../projections/leads/forms.ts"
import { newId } from "../../frame/kernel/ids.ts"
import { renderFields, renderTable } from "../../frame/operator/cli/render.ts"
import {
  requireAccepted,
  companyInput,
  findCompany,
  findUnerasedCompany,
  waitForOwnWrites,
  textInput,
} from "../../frame/operator/inputs.ts"
import type { AdminOperation, AdminPorts } from "../../frame/operator/operation.ts"
import { OWNER_OR_ADMIN, OperatorRefused, operation } from "../../frame/operator/operation.ts"
import { formPath, snippetOf } from "../submit-form.ts"

const hostname = z
  .string()
  .regex(/^[a-z0-9]([a-z0-9-]*[a-z0-9])?(\.[a-z0-9]([a-z0-9-]*[a-z0-9])?)*$/i, {
    error:
      "must be a host name, for example www.example.com (xn--… for other letters), without https:// and path",
  })
  .max(253)

const add = operation({
  name: "form add",
  summary: "open a lead form for a company",
  notes: [
    "The form's page is hosted here. You can also put the HTML that is shown on your own page.",
    "--hostname: host name of a page that may send the form, in addition to this service's own.",
    "--refuse-links: treat a form with three links and no email address as spam.",
  ],
  example: 'form add --company acme --name "Contact us" --hostname www.acme.example',
  changes: true,
  input: z.object({
    company: companyInput,
    name: textInput
      .refine((text) => text.trim() !== "" && text.length <= 200, "must have 1 to 200 characters")
      .meta({ description: "the title of the form" }),
    hostnames: z
      .array(hostname)
      .default([])
      .meta({ description: "host name of the company's page", flag: "hostname" }),
    refuseLinks: z
      .boolean()
      .default(false)
      .meta({ description: "treat forms with many links as sent by robots" }),
  }),
  consoleAccess: { roles: OWNER_OR_ADMIN },
  run: async ({ ports, cause }, { company: named, name, hostnames, refuseLinks }) => {
    const companyId = await findUnerasedCompany(ports, named)
    const seal = (text: string) => ports.sealing.seal(companyId, COMPANY_SUBJECT, text)
    const formId = newId("form")
    const names = [...new Set(hostnames.map((one) => one.toLowerCase()))]
    const form = { formId, refuseLinks, name: await seal(name.trim()) }
    const command = { type: "OpenLeadForm" as const, ...form }
    const sealed = await Promise.all(names.map(seal))
    requireAccepted(
      await ports.runner.execute(
        leadsStreamOf(companyId),
        { ...command, hostnames: sealed },
        cause,
      ),
    )
    await waitForOwnWrites(ports)
    const url = `${ports.baseUrl()}${formPath(formId)}`
    return { formId, companyId, url, html: snippetOf(ports.baseUrl(), formId) }
  },
  render: ({ html, ...rest }) =>
    `${renderFields(Object.entries(rest))}\nHTML for your own page:\n${html}\n`,
})

const list = operation({
  name: "form list",
  summary: "list a company's forms",
  notes: ["--json also shows the HTML of each form."],
  example: "form list --company acme",
  input: z.object({ company: companyInput }),
  consoleAccess: { permission: "Read leads" },
  run: async ({ ports }, { company: named }) => {
    const companyId = await findCompany(ports, named)
    await waitForOwnWrites(ports)
    const rows = await listForms(ports.readAll, companyId)
    return { forms: rows.map((row) => formSummary(ports, row)) }
  },
  // The HTML has many lines, so the table leaves it out.
  render: ({ forms }, page) =>
    renderTable(
      forms.map(({ html: _html, hostnames, ...form }) => ({
        ...form,
        hostnames: hostnames.join(" "),
      })),
      page,
      "forms",
    ),
})

function formSummary(ports: Pick<AdminPorts, "baseUrl">, row: FormRow) {
  return {
    formId: row.form_id,
    name: row.name,
    status: row.closed_at === null ? "open" : "closed",
    hostnames: row.hostnames?.split(" ").filter((one) => one !== "") ?? [],
    refuseLinks: row.refuse_links,
    url: `${ports.baseUrl()}${formPath(row.form_id)}`,
    html: snippetOf(ports.baseUrl(), row.form_id),
    openedAt: row.opened_at.toISOString(),
  }
}

const close = operation({
  name: "form close",
  summary: "close a form, so that it accepts no more leads",
  example: "form close form_4Zb0x7",
  changes: true,
  input: z.object({
    formId: z.string().meta({ description: "the form, by id", argument: "FORM_ID" }),
  }),
  consoleAccess: { roles: OWNER_OR_ADMIN },
  run: async ({ ports, cause }, { formId: named }) => {
    const { companyId, formId } = await findFormById(ports, named)
    requireAccepted(
      await ports.runner.execute(
        leadsStreamOf(companyId),
        { type: "CloseLeadForm", formId },
        cause,
      ),
    )
    await waitForOwnWrites(ports)
    return { formId, companyId, status: "closed" }
  },
})

/** Finds a form and its company. @throws OperatorRefused if it does not exist */
export async function findFormById(
  ports: Pick<AdminPorts, "projector" | "readAll" | "store">,
  text: string,
): Promise<{ readonly companyId: CompanyId; readonly formId: FormId }> {
  await waitForOwnWrites(ports)
  const formId = parseFormId(text)
  const form = formId === null ? null : await findForm(ports.readAll, formId)
  if (form !== null) return { companyId: form.company_id, formId: form.form_id }
  const message = `There is no form ${text}. List them with "form list --company COMPANY".`
  throw new OperatorRefused("not_found", message)
}

export const formOperations: readonly AdminOperation[] = [add, list, close]
