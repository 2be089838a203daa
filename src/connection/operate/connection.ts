/** Operations that connect installed apps, list them and publish their releases. */
import { accessStreamOf } from "../../../domain/access/aggregates.ts"
import { COMPANIES_STREAM } from "../../../domain/company/aggregates.ts"
import { z } from "zod"
import { findPerson } from "../../../domain/access/access.ts"
import { listLastCheckIns, listDevices } from "../../../projections/connection/apps.ts"
import {
  CONNECTED_APP_OPERATIONS,
  companyTagOf,
  normalizeConnectCode,
  openConnectRequests,
  deriveConnectionKey,
} from "../start-connection.ts"
import { companyByNameTag } from "../../../domain/company/companies.ts"
import type { CompanyId, PersonId } from "../../../domain/kernel/ids.ts"
import {
  requireAccepted,
  companyInput,
  findCompany,
  findPersonOf,
  waitForOwnWrites,
  channelNameInput,
  textInput,
} from "../../frame/operator/inputs.ts"
import type { AdminOperation, AdminPorts } from "../../frame/operator/operation.ts"
import { OWNER_OR_ADMIN, OperatorRefused, operation } from "../../frame/operator/operation.ts"
import { RELEASES_STREAM } from "../../../domain/connection/aggregates.ts"

const approve = operation({
  name: "connect approve",
  summary: "connect an app that showed a code, as an owner of the company",
  notes: [
    "The app gets a key of that owner, only for its account, check-in and updates.",
    "A code is valid for ten minutes.",
  ],
  example: "connect approve ABCD-EFGH-JKMN-PQRS --company acme --person per_4Zb0x7",
  changes: true,
  input: z.object({
    code: z.string().meta({ description: "the code that the app shows", argument: "CODE" }),
    company: companyInput,
    person: z.string().meta({ description: "the owner, by id" }),
  }),
  consoleAccess: {
    roles: ["owner"],
    denialReason: ({ input, person }) =>
      input.person === person.personId ? null : "An owner approves an app for themselves.",
  },
  run: async ({ ports, cause }, input) => {
    const code = normalizeConnectCode(input.code)
    const companyId = await findCompany(ports, input.company)
    const personId = await findOwner(ports, companyId, input.person)
    const requests = openConnectRequests(ports)
    const request = await requests.find(code)
    if (request === null) throw codeNotFound()
    const { companyTag, version, installId } = request.content
    if (companyTag !== null && !(await isTagOfCompany(ports, companyTag, companyId))) {
      throw new OperatorRefused("conflict", "The app requested another company.")
    }
    // Approved before the key is created, so that only one of two concurrent approvals creates a key.
    const approval = await requests.approve(code, request, { companyId, personId })
    if (approval === null) throw codeNotFound()
    if (approval.companyId !== companyId || approval.personId !== personId) {
      throw new OperatorRefused("conflict", "Another person has already approved this code.")
    }
    const { keyId, keyHash } = deriveConnectionKey(ports, code, companyId)
    const label = await ports.sealing.seal(companyId, keyId, `App ${version}`)
    const key = { type: "CreateKey" as const, keyId, personId, keyHash, label }
    const command = { ...key, operations: CONNECTED_APP_OPERATIONS }
    requireAccepted(await ports.runner.execute(accessStreamOf(companyId), command, cause))
    await waitForOwnWrites(ports)
    return { companyId, personId, keyId, version, installId }
  },
})

async function findOwner(
  ports: Pick<AdminPorts, "runner">,
  companyId: CompanyId,
  named: string,
): Promise<PersonId> {
  const personId = await findPersonOf(ports, companyId, named)
  const stream = accessStreamOf(companyId)
  const person = await ports.runner.read(stream, (state) => findPerson(state, personId))
  if (person?.role === "owner") return personId
  throw new OperatorRefused("not_allowed", "Only an owner can connect an app to the company.")
}

async function isTagOfCompany(
  ports: Pick<AdminPorts, "runner" | "sealing">,
  tag: string,
  companyId: CompanyId,
): Promise<boolean> {
  if (tag === companyTagOf(ports, companyId)) return true
  const named = (state: Parameters<typeof companyByNameTag>[0]) => companyByNameTag(state, tag)
  return (await ports.runner.read(COMPANIES_STREAM, named)) === companyId
}

function codeNotFound(): OperatorRefused {
  const message = "The code is unknown or has expired. Start again in the app to get a new code."
  return new OperatorRefused("not_found", message)
}

const list = operation({
  name: "app list",
  summary: "list a company's installed apps and how their updates stand",
  example: "app list --company acme",
  input: z.object({ company: companyInput }),
  consoleAccess: { roles: OWNER_OR_ADMIN },
  run: async ({ ports }, input) => {
    const companyId = await findCompany(ports, input.company)
    await waitForOwnWrites(ports)
    const [checkIns, devices] = await Promise.all([
      listLastCheckIns(ports.readAll, companyId),
      listDevices(ports.readAll, companyId),
    ])
    return {
      apps: checkIns.map((row) => ({
        installId: row.install_id,
        version: row.version,
        platform: row.platform,
        seal: row.seal,
        checkedInAt: row.checked_in_at.toISOString(),
        counts: row.counts,
      })),
      updates: devices.map((row) => ({
        installId: row.install_id,
        kind: row.kind,
        version: row.version,
        status: row.status,
        reason: row.reason,
        sequence: row.sequence,
        reportedAt: row.reported_at.toISOString(),
      })),
    }
  },
})

/** Operations on installed apps. */
export const connectionOperations: readonly AdminOperation[] = [approve, list]

const version = z.string().meta({ description: "the version, such as 2.1.0", form: "text" })

const publish = operation({
  name: "release publish",
  summary: "publish a version of the app to a channel",
  notes: ["A company's apps are updated from its channel, stable unless company change says so."],
  example: 'release publish --version 2.1.0 --notes "Faster lists" --channel stable',
  changes: true,
  input: z.object({
    version,
    notes: textInput.meta({ description: "what is new" }),
    channel: channelNameInput.meta({ description: "the channel" }),
    required: z.boolean().default(false).meta({ description: "apps must install it to continue" }),
  }),
  run: async ({ ports, cause }, release) => {
    const command = { type: "PublishRelease" as const, ...release }
    requireAccepted(await ports.runner.execute(RELEASES_STREAM, command, cause))
    return release
  },
})

const seal = operation({
  name: "release seal",
  summary: "record the fingerprint of a version's protected core",
  example: "release seal --version 2.1.0 --tree 4b825dc642cb6eb9a060e54bf8d69288fbee4904",
  changes: true,
  input: z.object({
    version,
    tree: z
      .string()
      .regex(/^([0-9a-f]{40}|[0-9a-f]{64})$/i, "must be a tree's hash of 40 or 64 hex digits")
      .transform((text) => text.toLowerCase())
      .meta({ description: "the hash of its tree", takes: "hash" }),
  }),
  run: async ({ ports, cause }, sealed) => {
    const command = { type: "SealRelease" as const, ...sealed }
    requireAccepted(await ports.runner.execute(RELEASES_STREAM, command, cause))
    return sealed
  },
})

export const appReleaseOperations: readonly AdminOperation[] = [publish, seal]
