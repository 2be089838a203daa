/** Erasure of a lead, alone or with its company: its list entry stays, its content is gone. */
import { afterAll, beforeEach, describe, expect, it } from "vitest"
import {
  dumpDatabase,
  databaseFiles,
  secretsFoundIn,
  readUnsealedStreams,
} from "../company/planted-data.ts"
import { retryJobsOf } from "../effects/texts.ts"
import { openOwnPostgres } from "../support/embedded-postgres.ts"
import type { Company } from "../support/world.ts"
import { makeCompany, openWorld } from "../support/world.ts"
import { SAMPLE_LEAD, LEADS_PATH, listAllLeads, openForm, postForm, postFormJson } from "./forms.ts"

const SECRETS = {
  name: "Wilhelmina Oddly",
  email: "wilhelmina.oddly@example.com",
  message: "the parcel is under the blue stone",
  field: "seventeen purple llamas",
}
const { name: firstName, email, message, field } = SECRETS

const server = await openOwnPostgres()
/** Tests run one after another, because some restart the world. Each test has a company of its own. */
let world = await openWorld("store", { server: server.url, rateLimits: "off" })
afterAll(async () => {
  await world.close()
  await server.close()
})
let company: Company
let formName: string
beforeEach(async () => {
  company = await makeCompany(world)
  formName = `Form of Zanzibar for ${company.companyId}`
})

/** Adds three leads; returns the middle one, which contains the secrets. */
async function plant() {
  const form = await openForm(world, company, { name: formName })
  await postFormJson(world, form, { email: "first@example.com" })
  await postForm(world, form, { firstName, email, message, animal: field, smsConsent: "on" })
  await postFormJson(world, form, { email: "third@example.com" })
  const [, lead] = await listAllLeads(world, company)
  expect(lead).toMatchObject({ firstName, smsConsent: true, fields: { animal: field } })
  expect(await secretsInDatabase()).toEqual(Object.keys(SECRETS).toSorted())
  return lead
}

const secretsInDatabase = async () =>
  secretsFoundIn([...(await dumpDatabase(world)), await readUnsealedStreams(world)], SECRETS)
const secretsOnDisk = async () =>
  secretsFoundIn(
    (await databaseFiles(world)).map(({ content }) => content),
    SECRETS,
  )
const BLANK = {
  firstName: null,
  lastName: null,
  email: null,
  phone: null,
  company: null,
  message: null,
  pageUrl: null,
  smsConsent: false,
  emailConsent: false,
  utm: {},
  fields: {},
}

describe("an erased lead", () => {
  it("is a new lead if the same form is sent again within a minute", async () => {
    const form = await openForm(world, company)
    const first = (await postFormJson(world, form)).body.id
    expect((await postFormJson(world, form)).body.id).toBe(first)
    await world.operate("lead erase", { leadId: first })
    const second = (await postFormJson(world, form)).body.id
    expect(second).not.toBe(first)
    expect((await postFormJson(world, form)).body.id).toBe(second)
    expect(await listAllLeads(world, company)).toMatchObject([
      { email: null },
      { email: SAMPLE_LEAD.email },
    ])
    const { body } = await world.call(company.key, "POST", LEADS_PATH, {
      body: { collected: [first, second] },
    })
    expect(body).toEqual({ collected: 1 })
  })

  it("keeps its list entry, and its content is gone everywhere", async () => {
    const lead = await plant()
    const before = await listAllLeads(world, company)
    await world.operate("lead erase", { leadId: lead.id })
    await world.operate("wait")
    const { id, formId, createdAt } = lead
    expect(lead.formName).toBe(formName)
    const after = await listAllLeads(world, company)
    expect(after).toEqual([
      before[0],
      { ...BLANK, id, formId, formName, createdAt, collectedAt: null },
      before[2],
    ])
    expect(await listAllLeads(world, company, before[0]?.createdAt)).toEqual(after.slice(1))
    expect(await listAllLeads(world, company, createdAt)).toEqual(after.slice(2))
    expect([await secretsInDatabase(), await secretsOnDisk()]).toEqual([[], []])
    expect(world.warnings).toEqual([])
    // An erased lead cannot be collected, and a second erasure has no effect.
    const { body } = await world.call(company.key, "POST", LEADS_PATH, {
      body: { collected: before.map((one) => one.id) },
    })
    expect(body).toEqual({ collected: 2 })
    await world.operate("lead erase", { leadId: id })
    const { events } = await world.operate("audit show", { stream: `leads-${company.companyId}` })
    const erased = events.filter(({ type }: { type: string }) => type === "LeadErased")
    expect(erased).toHaveLength(1)
    // A rebuild cannot read its content, and the audit passes.
    for (const name of ["leads", "forms"]) await world.operate("projections rebuild", { name })
    expect((await listAllLeads(world, company))[1]).toMatchObject({ ...BLANK, id })
    expect((await world.operate("audit verify")).ok).toBe(true)
  }, 120_000)

  it.each([
    ["before", "destroySubjectKey"],
    ["after", "destroySubjectKey"],
    ["after", "wipeFiles"],
  ] as const)("is erased after a restart if the process failed %s %s", async (when, step) => {
    const lead = await plant()
    breakOnce(step, when)
    await world.operate("lead erase", { leadId: lead.id })
    await world.operate("wait")
    expect(world.warnings).toEqual([
      expect.stringMatching(/^job \d+ \(erase-lead\) failed: Error: cut short$/),
    ])
    // The API already answers without the lead's text.
    expect((await listAllLeads(world, company))[1]).toMatchObject(BLANK)
    world = await world.restart()
    await retryJobsOf(world, company.companyId, "erase-lead")
    const { jobs } = await world.operate("job list")
    expect(jobs.filter(({ kind }: { kind: string }) => kind === "erase-lead")).toEqual([])
    expect([await secretsInDatabase(), await secretsOnDisk()]).toEqual([[], []])
  })

  it("must exist", async () => {
    for (const leadId of ["lead_0", "x", ""]) {
      await expect(world.operate("lead erase", { leadId })).rejects.toThrow(/There is no lead/)
    }
  })
})

/** Makes a step fail once, before or after its work. */
function breakOnce(step: "destroySubjectKey" | "wipeFiles", when: "before" | "after"): void {
  const { erasure } = world.ports
  const original = erasure[step]
  const broken = async (...args: readonly unknown[]) => {
    Object.assign(erasure, { [step]: original })
    if (when === "after") await Reflect.apply(original, erasure, args)
    throw new Error("cut short")
  }
  Object.assign(erasure, { [step]: broken })
}

describe("an erased company", () => {
  it("leaves only the ids and times of its leads", async () => {
    const lead = await plant()
    await world.operate("company delete", { company: company.companyId })
    await world.operate("clock advance", { duration: "15d" })
    expect(secretsFoundIn(await dumpDatabase(world), { ...SECRETS, form: formName })).toEqual([])
    expect([await secretsInDatabase(), await secretsOnDisk()]).toEqual([[], []])
    const { leads } = await world.operate("lead list", { company: company.companyId })
    const { id, formId, createdAt } = lead
    expect(leads[1]).toEqual({ ...BLANK, id, formId, formName: null, createdAt, collectedAt: null })
    const { forms } = await world.operate("form list", { company: company.companyId })
    expect(forms).toMatchObject([{ formId, name: null, hostnames: [] }])
    expect((await world.operate("audit verify")).ok).toBe(true)
  })
})
