/**
 * Operations in the console. Each is scoped to the user's company first: its input, readers and streams are
 * limited to that company, so another company's data answers as not found.
 */
import { z } from "zod"
import { accessStreamOf } from "../../../domain/access/aggregates.ts"
import { findPerson } from "../../../domain/access/access.ts"
import type { Person } from "../../../domain/access/permissions.ts"
import { ledgerStreamOf } from "../../../domain/charging/aggregates.ts"
import { deletionOf } from "../../../domain/charging/deletion.ts"
import { parseFields } from "../routes/checks/7-values.ts"
import {
  NO_RATE_LIMITS,
  openRateLimits,
  RATE_LIMITS,
  rateSettings,
} from "../routes/checks/rate-limits.ts"
import type { RateLimits } from "../routes/checks/rate-limits.ts"
import type { Refusal } from "../routes/answers/refusal.ts"
import { refusal } from "../routes/answers/refusal.ts"
import type {
  ConsoleRequest,
  ConsoleChannel,
  OperationOutcome,
  ConsoleOperations,
  OfferedOperation,
} from "../console-ports.ts"
import type { ConsoleAccess, AdminOperation, AdminPorts } from "./operation.ts"
import { OperatorRefused } from "./operation.ts"
import { operationSlug, USAGE } from "./protocol.ts"
import { fileField, withSpooled } from "./operation-files.ts"
import { findCompany } from "./inputs.ts"
import { runOperation, confirmationRefusal } from "./run-operation.ts"
import type { CompanyId } from "../../../domain/kernel/ids.ts"
import { companyOfStream } from "../../../domain/kernel/aggregate.ts"

/** Maximum size of a file that a console user uploads, bytes. */
const MAX_FILE_BYTES = 512 * 1024 * 1024

type ConsoleOperation = AdminOperation & { readonly consoleAccess: ConsoleAccess<unknown> }

/**
 * Opens the console's operations.
 *
 * @throws RangeError if two have the same name in paths
 */
export function openConsoleOperations(
  operations: readonly AdminOperation[],
  ports: () => AdminPorts,
): ConsoleOperations {
  const offered = operations.filter(
    (one): one is ConsoleOperation => one.consoleAccess !== undefined,
  )
  const byPath = new Map(offered.map((one) => [operationSlug(one.name), one]))
  if (byPath.size !== offered.length)
    throw new RangeError("two operations of the console have the same path")
  let rates: RateLimits | null = null
  return {
    listOperations: async (who) => {
      const me = await personOf(ports(), who)
      const available = offered.filter(
        ({ consoleAccess: { isAvailable } }) => isAvailable?.(ports()) ?? true,
      )
      return me === null ? [] : available.map((one) => toOfferedOperation(one, me))
    },
    runOperation: async (request, talk) => {
      const found = byPath.get(request.operation)
      if (found === undefined) {
        return { refusal: refusal("not_found", `There is no operation ${request.operation} here.`) }
      }
      rates ??= rateLimitsOf(ports())
      const call = { ports: scopedPorts(ports(), request.companyId), rates, found, request }
      const me = await checkAccess(call)
      if ("error" in me) return { refusal: me }
      const { file } = request
      const field = fileField(found)
      if (field === null || file === null) return runPermitted(call, me, talk, {})
      return withSpooled({ chunks: file, name: null, maxBytes: MAX_FILE_BYTES }, (path) =>
        runPermitted(call, me, talk, { [field]: path }),
      )
    },
  }
}

/** A requested operation with its context. */
interface OperationCall {
  /** Scoped to the company. */
  readonly ports: AdminPorts
  readonly rates: RateLimits
  readonly found: ConsoleOperation
  readonly request: ConsoleRequest
}

function rateLimitsOf(ports: Pick<AdminPorts, "log" | "pacer" | "settings">): RateLimits {
  return ports.settings(rateSettings).RATE_LIMITS === "on" ? openRateLimits(ports) : NO_RATE_LIMITS
}

function personOf(
  { runner }: Pick<AdminPorts, "runner">,
  { companyId, personId }: Pick<ConsoleRequest, "companyId" | "personId">,
): Promise<Person | null> {
  return runner.readLatest(accessStreamOf(companyId), (state) => findPerson(state, personId))
}

/** Returns the person, or a refusal; runs before the input is checked. */
async function checkAccess({
  ports,
  rates,
  found,
  request,
}: OperationCall): Promise<Person | Refusal> {
  const { consoleAccess: access, needsReason, name } = found
  const { companyId, personId, reason, file } = request
  const me = await personOf(ports, { companyId, personId })
  if (me === null) return refusal("invalid_key", "This person no longer belongs to the company.")
  const deletion = await ports.runner.readLatest(ledgerStreamOf(companyId), deletionOf)
  if (deletion !== null && (access.isAllowedWhileDeleted !== true || deletion.isErasing)) {
    return refusal("gone", "This company was deleted.")
  }
  const tooOften = access.rateLimit === undefined ? null : rates.refuse(access.rateLimit, personId)
  if (tooOften !== null) return tooOften
  if (access.ownInput === undefined && !isPermitted(access, me))
    return refusal("not_allowed", missingPermissionText(access))
  if (needsReason === true && (reason ?? "").trim() === "") {
    return invalidFields({ reason: "Give a reason: it becomes part of the record." })
  }
  const takesFile = fileField(found) !== null
  if (takesFile === (file !== null)) return me
  const message = takesFile ? "Send the file as the body." : `${name} takes no file.`
  return invalidFields({ file: message })
}

const invalidFields = (fields: Readonly<Record<string, string>>): Refusal =>
  refusal("validation", "This is not valid: see fields.", { fields })

async function runPermitted(
  call: OperationCall,
  person: Person,
  talk: ConsoleChannel,
  spooled: Readonly<Record<string, string>>,
): Promise<OperationOutcome> {
  const { ports, found, request } = call
  const { companyId, personId, reason, requestId, confirmation } = request
  const input = inputOf(call, spooled)
  const other = hasCompany(found)
    ? await otherCompanyRefusal(ports, companyId, input["company"])
    : null
  if (other !== null) return { refusal: other }
  const { value, fields } = parseFields(found.input, input)
  if (Object.keys(fields).length > 0) return { refusal: invalidInputRefusal(fields) }
  const may = await permittedInput(found.consoleAccess, { input: value, person, companyId, ports })
  if ("refusal" in may) return may
  const why = confirmationRefusal(found, input, confirmation) ?? mailRateRefusal(call, may.input)
  if (why !== null) return { refusal: why }
  const cause = { command: requestId, actor: personId, keyId: null, personId, reason }
  const given = { ports, cause, companyScope: companyId }
  return runOperation(found, given, may.input, { progress: () => undefined, ...talk })
}

/** Returns the input, with the console's company. A file path can only come from the upload. */
function inputOf(
  { found, request }: OperationCall,
  spooled: Readonly<Record<string, string>>,
): Readonly<Record<string, unknown>> {
  const field = fileField(found)
  const given = Object.entries(request.input).filter(([name]) => name !== field)
  const scope = hasCompany(found) ? { company: request.companyId } : {}
  return { ...scope, ...Object.fromEntries(given), ...spooled }
}

/** Counts invitations with sign-in codes. */
function mailRateRefusal(
  { ports, rates, found, request }: OperationCall,
  input: unknown,
): Refusal | null {
  const { recipientEmail } = found.consoleAccess
  if (recipientEmail === undefined) return null
  const tag = ports.sealing.installationTag(recipientEmail(input).toLowerCase())
  return (
    rates.refuse(RATE_LIMITS.codesFrom, request.address) ?? rates.refuse(RATE_LIMITS.codesTo, tag)
  )
}

/** Whether its input names a company. */
function hasCompany({ input }: AdminOperation): boolean {
  return input instanceof z.ZodObject && "company" in input.shape
}

/** Returns the refusal of another company, worded like that of an unknown one. */
async function otherCompanyRefusal(
  ports: Pick<AdminPorts, "runner" | "sealing">,
  companyId: string,
  named: unknown,
): Promise<Refusal | null> {
  // The schema reports other types.
  if (typeof named !== "string") return null
  try {
    if ((await findCompany(ports, named)) === companyId) return null
  } catch (error) {
    if (!(error instanceof OperatorRefused)) throw error
  }
  return refusal("not_found", `There is no company ${named}.`)
}

/** Returns the input that the person may run, limited to themselves if necessary; else the refusal. */
async function permittedInput(
  access: ConsoleAccess<unknown>,
  request: Parameters<NonNullable<ConsoleAccess<unknown>["denialReason"]>>[0],
): Promise<{ readonly input: unknown } | { readonly refusal: Refusal }> {
  const { person, input } = request
  const permitted = isPermitted(access, person)
    ? input
    : ((await access.ownInput?.(request)) ?? null)
  if (permitted === null) return { refusal: refusal("not_allowed", missingPermissionText(access)) }
  const denial = (await access.denialReason?.({ ...request, input: permitted })) ?? null
  return denial === null ? { input: permitted } : { refusal: refusal("not_allowed", denial) }
}

function missingPermissionText({ permission, roles, ownInput }: ConsoleAccess<unknown>): string {
  const rest = ownInput === undefined ? "" : ", for others than yourself"
  if (permission !== undefined)
    return `You do not have the permission "${permission}"${rest}. Ask an owner or admin.`
  return `Only an ${(roles ?? []).join(" or ")} of the company may do this${rest}.`
}

function invalidInputRefusal({
  [USAGE]: usage,
  ...fields
}: Readonly<Record<string, string>>): Refusal {
  if (usage === undefined) return invalidFields(fields)
  return refusal("validation", usage, { fields: { input: usage } })
}

/** Scopes ports to a company; commands on another company's stream fail. @throws OperatorRefused */
function scopedPorts(ports: AdminPorts, companyId: CompanyId): AdminPorts {
  const { runner, store } = ports
  const inScope = <S extends { readonly stream: string }>(at: S): S => {
    const other = companyOfStream(at.stream)
    if (other === null || other === companyId) return at
    throw new OperatorRefused("not_found", "This company has no such record.")
  }
  return {
    ...ports,
    // Row-level security limits the rows.
    readAll: ports.readModelsOf(companyId),
    runner: {
      ...runner,
      execute: async (at, command, cause, view, deadlineMs) =>
        runner.execute(inScope(at), command, cause, view, deadlineMs),
      read: async (at, view, deadlineMs) => runner.read(inScope(at), view, deadlineMs),
      readLatest: async (at, view, deadlineMs) => runner.readLatest(inScope(at), view, deadlineMs),
    },
    store: {
      ...store,
      // Streams without a company are for operators only.
      read: (stream, range) =>
        companyOfStream(stream) === companyId ? store.read(stream, range) : nothing(),
    },
  }
}

async function* nothing(): AsyncGenerator<never> {
  // A company has no events in another stream.
}

/** Whether a person may run an operation for everyone in the company. */
function isPermitted(access: ConsoleAccess<unknown>, { role, permissions }: Person): boolean {
  return access.permission === undefined
    ? access.roles.includes(role)
    : permissions.includes(access.permission)
}

function toOfferedOperation(
  found: AdminOperation & { readonly consoleAccess: ConsoleAccess<unknown> },
  me: Person,
): OfferedOperation {
  const { name, summary = "", notes = [], irreversible, consoleAccess: access } = found
  const otherwise = access.ownInput === undefined ? ("no" as const) : ("own" as const)
  return {
    name: operationSlug(name),
    command: name,
    summary,
    notes,
    input: z.toJSONSchema(found.input, { io: "input", unrepresentable: "any" }),
    changes: found.changes === true,
    needsReason: found.needsReason === true,
    irreversible:
      irreversible === undefined ? null : { field: irreversible.field, says: irreversible.says },
    takesFile: fileField(found) !== null,
    sendsFile: found.hasFile === true,
    may: isPermitted(access, me) ? "all" : otherwise,
  }
}
