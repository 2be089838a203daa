/**
 * Operations in companies' consoles. Each is scoped to the company before anything is looked at: its input
 * names no other, its readers see the rows of that one, and its streams are that one's; so what is another
 * company's answers like what is not there.
 */
import { z } from "zod"
import { accessOf } from "../../../domain/access/aggregates.ts"
import { findPerson } from "../../../domain/access/access.ts"
import type { Person } from "../../../domain/access/permissions.ts"
import { ledgerOf } from "../../../domain/charging/aggregates.ts"
import { deletionOf } from "../../../domain/charging/deletion.ts"
import { parse } from "../routes/checks/7-values.ts"
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
  ConsoleTalk,
  Done,
  InConsole,
  OfferedOperation,
} from "../console-ports.ts"
import type { ConsoleWord, AdminOperation, AdminPorts } from "./operation.ts"
import { OperatorRefused } from "./operation.ts"
import { pathOf, USAGE } from "./protocol.ts"
import { fileField, withSpooled } from "./files.ts"
import { findCompany } from "./inputs.ts"
import { performed, unconfirmed } from "./run-operation.ts"
import type { CompanyId } from "../../../domain/kernel/ids.ts"
import { companyOf } from "../../../domain/kernel/aggregate.ts"

/** The most bytes of a file that somebody of a company sends. */
const MOST_FILE_BYTES = 512 * 1024 * 1024

/** An operation that consoles offer. */
type Offered = AdminOperation & { readonly console: ConsoleWord<unknown> }

/**
 * Opens them.
 *
 * @throws RangeError where two have the same name in paths
 */
export function openInConsole(
  operations: readonly AdminOperation[],
  ports: () => AdminPorts,
): InConsole {
  const offered = operations.filter((one): one is Offered => one.console !== undefined)
  const byPath = new Map(offered.map((one) => [pathOf(one.name), one]))
  if (byPath.size !== offered.length)
    throw new RangeError("two operations of consoles share a path")
  let rates: RateLimits | null = null
  return {
    offered: async (who) => {
      const me = await personOf(ports(), who)
      const here = offered.filter(({ console: { isHere } }) => isHere?.(ports()) ?? true)
      return me === null ? [] : here.map((one) => offeredTo(one, me))
    },
    run: async (request, talk) => {
      const found = byPath.get(request.operation)
      if (found === undefined) {
        return { refusal: refusal("not_found", `There is no operation ${request.operation} here.`) }
      }
      rates ??= ratesOf(ports())
      const asked = { ports: scopedTo(ports(), request.companyId), rates, found, request }
      const me = await enter(asked)
      if ("error" in me) return { refusal: me }
      const { file } = request
      const field = fileField(found)
      if (field === null || file === null) return doIt(asked, me, talk, {})
      return withSpooled({ pieces: file, name: null, mostBytes: MOST_FILE_BYTES }, (path) =>
        doIt(asked, me, talk, { [field]: path }),
      )
    },
  }
}

/** An operation that was asked for, and what it is done with. */
interface Asked {
  /** As the company sees them. */
  readonly ports: AdminPorts
  readonly rates: RateLimits
  readonly found: Offered
  readonly request: ConsoleRequest
}

function ratesOf(ports: Pick<AdminPorts, "log" | "pacer" | "settings">): RateLimits {
  return ports.settings(rateSettings).RATE_LIMITS === "on" ? openRateLimits(ports) : NO_RATE_LIMITS
}

function personOf(
  { runner }: Pick<AdminPorts, "runner">,
  { companyId, personId }: Pick<ConsoleRequest, "companyId" | "personId">,
): Promise<Person | null> {
  return runner.readLatest(accessOf(companyId), (state) => findPerson(state, personId))
}

/** Who asks, where they may ask at all: before the input is looked at. */
async function enter({ ports, rates, found, request }: Asked): Promise<Person | Refusal> {
  const { console: word, needsReason, name } = found
  const { companyId, personId, reason, file } = request
  const me = await personOf(ports, { companyId, personId })
  if (me === null) return refusal("invalid_key", "This person is nobody of the company any more.")
  const deletion = await ports.runner.readLatest(ledgerOf(companyId), deletionOf)
  if (deletion !== null && (word.whileDeleted !== true || deletion.erasing)) {
    return refusal("gone", "This company was deleted.")
  }
  const often = word.rate === undefined ? null : rates.refuse(word.rate, personId)
  if (often !== null) return often
  if (word.own === undefined && !isLet(word, me)) return refusal("not_allowed", lackText(word))
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

async function doIt(
  asked: Asked,
  me: Person,
  talk: ConsoleTalk,
  spooled: Readonly<Record<string, string>>,
): Promise<Done> {
  const { ports, found, request } = asked
  const { companyId, personId, reason, requestId, confirmed } = request
  const input = inputOf(asked, spooled)
  const other = hasCompany(found) ? await otherCompany(ports, companyId, input["company"]) : null
  if (other !== null) return { refusal: other }
  const { value, fields } = parse(found.input, input)
  if (Object.keys(fields).length > 0) return { refusal: invalid(fields) }
  const may = await mayBe(found.console, { input: value, me, companyId, ports })
  if ("refusal" in may) return may
  const why = unconfirmed(found, input, confirmed) ?? mailsTooOften(asked, may.input)
  if (why !== null) return { refusal: why }
  const cause = { command: requestId, actor: personId, keyId: null, personId, reason }
  const given = { ports, cause, within: companyId }
  return performed(found, given, may.input, { progress: () => undefined, ...talk })
}

/** What was sent, at the console's company. A path of the server's own is nobody's to name. */
function inputOf(
  { found, request }: Asked,
  spooled: Readonly<Record<string, string>>,
): Readonly<Record<string, unknown>> {
  const field = fileField(found)
  const given = Object.entries(request.input).filter(([name]) => name !== field)
  const own = hasCompany(found) ? { company: request.companyId } : {}
  return { ...own, ...Object.fromEntries(given), ...spooled }
}

/** Invitations are counted as codes are. */
function mailsTooOften({ ports, rates, found, request }: Asked, input: unknown): Refusal | null {
  const { mailsTo } = found.console
  if (mailsTo === undefined) return null
  const tag = ports.sealing.installationTag(mailsTo(input).toLowerCase())
  return (
    rates.refuse(RATE_LIMITS.codesFrom, request.address) ?? rates.refuse(RATE_LIMITS.codesTo, tag)
  )
}

/** Whether its input names a company. */
function hasCompany({ input }: AdminOperation): boolean {
  return input instanceof z.ZodObject && "company" in input.shape
}

/** The refusal of a company that is not the console's own, in the words of one that is not there. */
async function otherCompany(
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
async function mayBe(
  word: ConsoleWord<unknown>,
  asking: Parameters<NonNullable<ConsoleWord<unknown>["bars"]>>[0],
): Promise<{ readonly input: unknown } | { readonly refusal: Refusal }> {
  const { me, input } = asking
  const mine = isLet(word, me) ? input : ((await word.own?.(asking)) ?? null)
  if (mine === null) return { refusal: refusal("not_allowed", lackText(word)) }
  const bar = (await word.bars?.({ ...asking, input: mine })) ?? null
  return bar === null ? { input: mine } : { refusal: refusal("not_allowed", bar) }
}

function lackText({ permission, roles, own }: ConsoleWord<unknown>): string {
  const rest = own === undefined ? "" : ", for others than yourself"
  if (permission !== undefined) return `You do not have the permission "${permission}"${rest}.`
  return `Only an ${(roles ?? []).join(" or ")} of the company may do this${rest}.`
}

/** The refusal of an input. */
function invalid({ [USAGE]: usage, ...fields }: Readonly<Record<string, string>>): Refusal {
  if (usage === undefined) return invalidFields(fields)
  return refusal("validation", usage, { fields: { input: usage } })
}

/** The same ports, as far as they are of a company; what is asked of another's stream @throws OperatorRefused. */
function scopedTo(ports: AdminPorts, companyId: CompanyId): AdminPorts {
  const { runner, store } = ports
  const own = <S extends { readonly stream: string }>(at: S): S => {
    const other = companyOf(at.stream)
    if (other === null || other === companyId) return at
    throw new OperatorRefused("not_found", "There is no such thing in this company.")
  }
  return {
    ...ports,
    // By row-level security.
    readAll: ports.readerOf(companyId),
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
        companyOf(stream) === companyId ? store.read(stream, range) : nothing(),
    },
  }
}

async function* nothing(): AsyncGenerator<never> {
  // There is nothing of it.
}

/** Whether somebody may do it, whomever of the company it is about. */
function isLet(word: ConsoleWord<unknown>, { role, permissions }: Person): boolean {
  return word.permission === undefined
    ? word.roles.includes(role)
    : permissions.includes(word.permission)
}

/** An operation as a person is shown it. */
function offeredTo(
  found: AdminOperation & { readonly console: ConsoleWord<unknown> },
  me: Person,
): OfferedOperation {
  const { name, summary = "", notes = [], irreversible, console: word } = found
  const own = word.own === undefined ? ("no" as const) : ("own" as const)
  return {
    name: pathOf(name),
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
    may: isLet(word, me) ? "all" : own,
  }
}
