/**
 * The company file, `company.json` at the root of a commit: whose code it is, how it is built, and what of it
 * is served. It is read from the repository's objects, never from a work tree.
 */
import { z } from "zod"
import type { Recipe } from "../../adapters/sandbox/preview-host/port.ts"

/** Where it stands. */
export const COMPANY_FILE = "company.json"

/** So large it may be, bytes. */
export const MAX_COMPANY_FILE_BYTES = 64 * 1024

const MAX_VARIABLES = 64

/** What the preview itself tells its commands. */
const RESERVED_VARIABLES = ["PORT", "DATABASE_URL", "STORAGE_DIR", "PREVIEW_URL"]

const PATH_MESSAGE = "must be a path of plain names parted by /, such as app/web"

/** A folder or a file within another one: no way out of that. */
const path = z
  .string()
  .max(1_000, "must have at most 1,000 characters")
  .transform((text) => text.replace(/^(?:\.\/)+/, "").replace(/\/+$/, ""))
  .transform((text) => (text === "" ? "." : text))
  .refine((text) => text === "." || text.split("/").every(isName), PATH_MESSAGE)

const isName = (name: string): boolean => !/^\.{0,2}$|[\0\\]/.test(name)

const command = z
  .string()
  .min(1, "must not be empty")
  .max(10_000, "must have at most 10,000 characters")
  .refine((text) => !text.includes("\0"), "must not contain the character U+0000")

const variables = z
  .record(
    z
      .string()
      .regex(/^[A-Za-z_]\w{0,99}$/, "must have names such as API_HOST")
      .refine(
        (name) => !RESERVED_VARIABLES.includes(name),
        `must not have ${RESERVED_VARIABLES.join(", ")}: the preview sets them`,
      ),
    z
      .string()
      .max(10_000, "must have values of at most 10,000 characters")
      .refine((text) => !text.includes("\0"), "must not contain the character U+0000"),
  )
  .refine(
    (all) => Object.keys(all).length <= MAX_VARIABLES,
    `must have at most ${MAX_VARIABLES} variables`,
  )

const CompanyFile = z
  .strictObject({
    company: z.string(),
    root: path.default("."),
    install: command.optional(),
    build: command.optional(),
    static: path.optional(),
    fallback: path.refine((text) => text !== ".", PATH_MESSAGE).optional(),
    start: command.optional(),
    release: command.optional(),
    health: z
      .string()
      .regex(/^\/[\x21-\x7e]{0,999}$/, "must be a path such as /health")
      .optional(),
    env: variables.default({}),
  })
  .superRefine((file, context) => {
    const isStatic = file.static !== undefined
    const fault = (message: string) => context.addIssue({ code: "custom", message })
    if (isStatic === (file.start !== undefined)) fault("exactly one of static and start is needed")
    if (!isStatic && file.fallback !== undefined) fault("fallback belongs to static")
    const ofApps = [file.release, file.health].some((one) => one !== undefined)
    if (isStatic && ofApps) fault("release and health belong to start")
  })

/** What a company file says, or what is wrong with it: a clause behind "The company file". */
export type CompanyFileResult =
  { readonly company: string; readonly recipe: Recipe } | { readonly fault: string }

/** Reads a company file. */
export function parseCompanyFile(bytes: Uint8Array): CompanyFileResult {
  const json = parseJson(bytes)
  if (json === undefined) return { fault: "is not JSON" }
  const read = CompanyFile.safeParse(json)
  if (!read.success) return { fault: `cannot be taken: ${faultsOf(read.error)}` }
  const { company, root, install = null, build = null, env, ...rest } = read.data
  const common = { root, install, build, env }
  const { static: folder, fallback = null, start = "", release = null, health = "/" } = rest
  const serves: Recipe["serves"] =
    folder === undefined
      ? { kind: "app", start, release, health }
      : { kind: "static", folder, fallback }
  return { company, recipe: { ...common, serves } }
}

const WRONG_TYPE = "is missing, or is of another type"

/** Undefined where it is none, or no UTF-8. */
function parseJson(bytes: Uint8Array): unknown {
  try {
    return JSON.parse(new TextDecoder("utf-8", { fatal: true }).decode(bytes))
  } catch (error) {
    if (error instanceof SyntaxError || error instanceof TypeError) return undefined
    throw error
  }
}

/** The first few faults, each by its field. */
function faultsOf({ issues }: z.ZodError): string {
  return issues
    .slice(0, 5)
    .map((issue) => {
      if (issue.code === "unrecognized_keys")
        return `it knows no ${issue.keys.slice(0, 5).join(", ")}`
      const at = issue.path.map(String).join(".").slice(0, 200)
      // A name that is none is told by what is wrong with it.
      const own = issue.code === "invalid_key" ? (issue.issues[0]?.message ?? "") : issue.message
      if (at === "" && issue.code === "invalid_type") return "it is no object"
      return at === "" ? own : `${at} ${messageFor(issue, own)}`
    })
    .join("; ")
}

const messageFor = ({ code }: { readonly code: string }, own: string): string =>
  code === "invalid_type" ? WRONG_TYPE : own
