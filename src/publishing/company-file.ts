/**
 * The company file, `company.json` at the root of a commit: it names the company and says how to build and
 * serve the code. It is read from the repository's objects, never from a work tree.
 */
import { z } from "zod"
import type { Recipe } from "../../adapters/sandbox/preview-host/port.ts"

/** Path of the company file in a commit. */
export const COMPANY_FILE = "company.json"

/** Maximum size in bytes. */
export const MAX_COMPANY_FILE_BYTES = 64 * 1024

const MAX_VARIABLES = 64

/** Variables that the preview sets for its commands. */
const RESERVED_VARIABLES = ["PORT", "DATABASE_URL", "STORAGE_DIR", "PREVIEW_URL"]

const PATH_MESSAGE = "must be a relative path without .., such as app/web"

/** A folder or file inside the repository; the path cannot leave it. */
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
      .regex(/^[A-Za-z_]\w{0,99}$/, "must be a variable name such as API_HOST")
      .refine(
        (name) => !RESERVED_VARIABLES.includes(name),
        "must not be PORT, DATABASE_URL, STORAGE_DIR or PREVIEW_URL: the preview sets them",
      ),
    z
      .string()
      .max(10_000, "must have at most 10,000 characters")
      .refine((text) => !text.includes("\0"), "must not contain the character U+0000"),
  )
  .refine(
    (all) => Object.keys(all).length <= MAX_VARIABLES,
    `can have at most ${MAX_VARIABLES} variables`,
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
    if (isStatic === (file.start !== undefined)) fault("set exactly one of static and start")
    if (!isStatic && file.fallback !== undefined) fault("fallback needs static")
    const hasAppFields = [file.release, file.health].some((one) => one !== undefined)
    if (isStatic && hasAppFields) fault("release and health need start")
  })

/** A company file, or what is wrong with it: a clause that follows "The company file". */
export type CompanyFileResult =
  { readonly company: string; readonly recipe: Recipe } | { readonly fault: string }

/** Reads a company file. */
export function parseCompanyFile(bytes: Uint8Array): CompanyFileResult {
  const json = parseJson(bytes)
  if (json === undefined) return { fault: "is not JSON" }
  const read = CompanyFile.safeParse(json)
  if (!read.success) return { fault: `is invalid: ${faultsOf(read.error)}` }
  const { company, root, install = null, build = null, env, ...rest } = read.data
  const common = { root, install, build, env }
  const { static: folder, fallback = null, start = "", release = null, health = "/" } = rest
  const serves: Recipe["serves"] =
    folder === undefined
      ? { kind: "app", start, release, health }
      : { kind: "static", folder, fallback }
  return { company, recipe: { ...common, serves } }
}

const WRONG_TYPE = "is missing, or has the wrong type"

/** Parses JSON; undefined if it is not JSON in UTF-8. */
function parseJson(bytes: Uint8Array): unknown {
  try {
    return JSON.parse(new TextDecoder("utf-8", { fatal: true }).decode(bytes))
  } catch (error) {
    if (error instanceof SyntaxError || error instanceof TypeError) return undefined
    throw error
  }
}

/** Describes the first five faults, each with its field. */
function faultsOf({ issues }: z.ZodError): string {
  return issues
    .slice(0, 5)
    .map((issue) => {
      if (issue.code === "unrecognized_keys")
        return `unknown fields: ${issue.keys.slice(0, 5).join(", ")}`
      const at = issue.path.map(String).join(".").slice(0, 200)
      // An invalid key has its message in a nested issue.
      const message =
        issue.code === "invalid_key" ? (issue.issues[0]?.message ?? "") : issue.message
      if (at === "" && issue.code === "invalid_type") return "it is not an object"
      return at === "" ? message : `${at} ${messageFor(issue, message)}`
    })
    .join("; ")
}

const messageFor = ({ code }: { readonly code: string }, message: string): string =>
  code === "invalid_type" ? WRONG_TYPE : message
