/**
 * Operations in companies' consoles. Each is scoped to the company before anything is looked at: its input
 * names no other, its readers see the rows of that one, and its streams are that one's; so what is another
 * company's answers like what is not there.
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

/** The most bytes of a file that somebody of a company sends. */
const MAX_FILE_BYTES = 512 * 1024 * 1024

/** An operation that consoles offer. */
type ConsoleOperation = AdminOperation & { readonly consoleAccess: ConsoleAccess<unknown> }

/**
 * Opens them.
 *
 * @throws RangeError where two have the same name in paths
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
    throw new RangeError("two operations of consoles share a path")
  let rates: RateLimits | null = null
  return {
    listOperations: async (who) => {
      const me = await personOf(ports(), who)
      const here = offered.filter(
        ({ consoleAccess: { isAvailable } }) => isAvailable?.(ports()) ?? true,
      )
      return me === null ? [] : here.map((one) => toOfferedOperation(one, me))
    },
    runOperation: async (request, talk) => {
      const found = byPath.get(request.operation)
      if (found === undefined) {
        return { refusal: refusal("not_found", `There is no operation ${request.operation} here.`) }
      }
      rates ??= rateLimitsOf(ports())
      const asked = { ports: scopedPorts(ports(), request.companyId), rates, found, request }
      const me = await checkAccess(asked)
      if ("error" in me) return { refusal: me }
      const { file } = request
      const field = fileField(found)
      if (field === null || file === null) return runPermitted(asked, me, talk, {})
      return withSpooled({ chunks: file, name: null, maxBytes: MAX_FILE_BYTES }, (path) =>
        runPermitted(asked, me, talk, { [field]: path }),
      )
    },
  }
}

/** An operation that was asked for, and what it is done with. */
interface OperationCall {
  /** As the company sees them. */
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

/** Who asks, where they may ask at all: before the input is looked at. */
async function checkAccess({
  ports,
  rates,
  found,
  request,
}: OperationCall): Promise<Person | Refusal> {
  const { consoleAccess: word, needsReason, name } = found
  const { companyId, personId, reason, file } = request
  const me = await personOf(ports, { companyId, personId })
  if (me === null) return refusal("invalid_key", "This person is nobody of the company any more.")
  const deletion = await ports.runner.readLatest(ledgerStreamOf(companyId), deletionOf)
  if (deletion !== null && (word.isAllowedWhileDeleted !== true || deletion.isErasing)) {
    return refusal("gone", "This company was deleted.")
  }
  const often = word.rateLimit === undefined ? null : rates.refuse(word.rateLimit, personId)
  if (often !== null) return often
  if (word.ownInput === undefined && !isPermitted(word, me))
    return refusal("not_allowed", missingPermissionText(word))
  if (needsReason === true && (reason ?? "").trim() === "") {
    return invalidFields({ reason: "Say why: it becomes part of the record." })
  }
  const takesFile = fileField(found) !== null
  if (takesFile === (file !== null)) return me
  const message = takesFile ? `Send the file as the body: ${name} takes one.` : "It takes no file."
  return invalidFields({ file: message })
}

const invalidFields = (fields: Readonly<Record<string, string>>): Refusal =>
  refusal("validation", "This is not valid: see fields.", { fields })

async function runPermitted(
  asked: OperationCall,
  person: Person,
  talk: ConsoleChannel,
  spooled: Readonly<Record<string, string>>,
): Promise<OperationOutcome> {
  const { ports, found, request } = asked
  const { companyId, personId, reason, requestId, confirmation } = request
  const input = inputOf(asked, spooled)
  const other = hasCompany(found)
    ? await otherCompanyRefusal(ports, companyId, input["company"])
    : null
  if (other !== null) return { refusal: other }
  const { value, fields } = parseFields(found.input, input)
  if (Object.keys(fields).length > 0) return { refusal: invalidInputRefusal(fields) }
  const may = await permittedInput(found.consoleAccess, { input: value, person, companyId, ports })
  if ("refusal" in may) return may
  const why = confirmationRefusal(found, input, confirmation) ?? mailRateRefusal(asked, may.input)
  if (why !== null) return { refusal: why }
  const cause = { command: requestId, actor: personId, keyId: null, personId, reason }
  const given = { ports, cause, companyScope: companyId }
  return runOperation(found, given, may.input, { progress: () => undefined, ...talk })
}

/** What was sent, at the console's company. A path of the server's own is nobody's to name. */
function inputOf(
  { found, request }: OperationCall,
  spooled: Readonly<Record<string, string>>,
): Readonly<Record<string, unknown>> {
  const field = fileField(found)
  const given = Object.entries(request.input).filter(([name]) => name !== field)
  const own = hasCompany(found) ? { company: request.companyId } : {}
  return { ...own, ...Object.fromEntries(given), ...spooled }
}

/** Invitations are counted as codes are. */
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

/** The refusal of a company that is not the console's own, in the words of one that is not there. */
async function otherCompanyRefusal(
  ports: Pick<AdminPorts, "runner" | "sealing">,
  companyId: string,
  named: unknown,
): Promise<Refusal | null> {
  // The schema says what is wrong with it.
  if (typeof named !== "string") return null
  try {
    if ((await findCompany(ports, named)) === companyId) return null
  } catch (error) {
    if (!(error instanceof OperatorRefused)) throw error
  }
  return refusal("not_found", `There is no company ${named}.`)
}

/** What they may do, as far as they may; else the refusal. */
async function permittedInput(
  word: ConsoleAccess<unknown>,
  asking: Parameters<NonNullable<ConsoleAccess<unknown>["denialReason"]>>[0],
): Promise<{ readonly input: unknown } | { readonly refusal: Refusal }> {
  const { person, input } = asking
  const mine = isPermitted(word, person) ? input : ((await word.ownInput?.(asking)) ?? null)
  if (mine === null) return { refusal: refusal("not_allowed", missingPermissionText(word)) }
  const bar = (await word.denialReason?.({ ...asking, input: mine })) ?? null
  return bar === null ? { input: mine } : { refusal: refusal("not_allowed", bar) }
}

function missingPermissionText({ permission, roles, ownInput }: ConsoleAccess<unknown>): string {
  const rest = ownInput === undefined ? "" : ", for others than yourself"
  if (permission !== undefined) return `You do not have the permission "${permission}"${rest}.`
  return `Only an ${(roles ?? []).join(" or ")} of the company may do this${rest}.`
}

/** The refusal of an input. */
function invalidInputRefusal({
  [USAGE]: usage,
  ...fields
}: Readonly<Record<string, string>>): Refusal {
  if (usage === undefined) return invalidFields(fields)
  return refusal("validation", usage, { fields: { input: usage } })
}

/** The same ports, as far as they are of a company; what is asked of another's stream @throws OperatorRefused. */
function scopedPorts(ports: AdminPorts, companyId: CompanyId): AdminPorts {
  const { runner, store } = ports
  const own = <S extends { readonly stream: string }>(at: S): S => {
    const other = companyOfStream(at.stream)
    if (other === null || other === companyId) return at
    throw new OperatorRefused("not_found", "There is no such thing in this company.")
  }
  return {
    ...ports,
    // By row-level security.
    readAll: ports.readModelsOf(companyId),
    runner: {
      ...runner,
      execute: async (at, command, cause, view, deadlineMs) =>
        runner.execute(own(at), command, cause, view, deadlineMs),
      read: async (at, view, deadlineMs) => runner.read(own(at), view, deadlineMs),
      readLatest: async (at, view, deadlineMs) => runner.readLatest(own(at), view, deadlineMs),
    },
    store: {
      ...store,
      // Streams of the whole installation are the operator's.
      read: (stream, range) =>
        companyOfStream(stream) === companyId ? store.read(stream, range) : nothing(),
    },
  }
}

async function* nothing(): AsyncGenerator<never> {
  // There is nothing of it.
}

/** Whether somebody may do it, whomever of the company it is about. */
function isPermitted(word: ConsoleAccess<unknown>, { role, permissions }: Person): boolean {
  return word.permission === undefined
    ? word.roles.includes(role)
    : permissions.includes(word.permission)
}

/** An operation as a person is shown it. */
function toOfferedOperation(
  found: AdminOperation & { readonly consoleAccess: ConsoleAccess<unknown> },
  me: Person,
): OfferedOperation {
  const { name, summary = "", notes = [], irreversible, consoleAccess: word } = found
  const own = word.ownInput === undefined ? ("no" as const) : ("own" as const)
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
    may: isPermitted(word, me) ? "all" : own,
  }
}
