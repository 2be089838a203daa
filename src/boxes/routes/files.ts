/** Routes for the files of a box. The box itself resolves each path. */
import { z } from "zod"
import type { BoxFileError } from "../../../adapters/sandbox/boxhost/port.ts"
import { WORKSPACE } from "../../../adapters/sandbox/boxhost/port.ts"
import type { Refusal } from "../../frame/routes/answers/refusal.ts"
import { refusal } from "../../frame/routes/answers/refusal.ts"
import { route } from "../../frame/routes/declare/route.ts"
import { isoTimeSchema, boundedText } from "../../frame/kernel/schema.ts"
import { logCallerActivity } from "../activity.ts"
import { BOXES_URL, BOX_ROUTE, BoxParams, withRunningBox } from "../box-route.ts"
import { BOX_REFUSALS } from "../box-errors.ts"
import { hasReplacementCharacters, isLongerThan, decodeUtf8 } from "../truncate-text.ts"
import { BOX_TOOLS } from "../tools.ts"

/** The answer holds the whole file, so a larger one is rejected. */
const MAX_READ_BYTES = 20_000_000
const MAX_CONTENT_CHARACTERS = 5_000_000
/** In JSON a character takes up to twelve bytes: a surrogate pair of escapes. */
const MAX_BODY_BYTES = 12 * MAX_CONTENT_CHARACTERS + 64 * 1024

const FILES_URL = `${BOXES_URL}/:id/files`
const CONTENT_URL = `${FILES_URL}/content`

const path = boundedText(1_000)
  .refine((text) => text !== "", "Must not be empty.")
  .describe("Path in the box: absolute, or relative to the repository's folder")

const encoding = z.enum(["utf-8", "base64"])

const FAULT_MESSAGES: Readonly<Record<BoxFileError["reason"], string>> = {
  missing: "The box has no file or folder at this path.",
  folder: "This path is a folder. Use the path of a file.",
  "no-file": "This path is not a regular file.",
  "no-folder": "This path is not a folder. Read a file with /files/content.",
  denied: "The box has no permission for this path.",
  "too-large": "This file is larger than 20,000,000 bytes. Read parts of it with a command.",
  failed: "The file operation failed in the box.",
}

/** Turns an error of the box's file system into a refusal. */
function refusalFromFault({ reason, detail }: BoxFileError): Refusal {
  if (reason === "missing") return refusal("not_found", FAULT_MESSAGES.missing)
  if (reason === "too-large") return refusal("too_large", FAULT_MESSAGES["too-large"])
  const message =
    reason === "failed" && detail !== ""
      ? `${FAULT_MESSAGES.failed} ${detail}`
      : FAULT_MESSAGES[reason]
  return refusal("validation", message, { fields: { path: message } })
}

const FILE_REFUSALS = [...BOX_REFUSALS, "too_large"] as const

export const fileList = route({
  ...BOX_ROUTE,
  name: "listFiles",
  method: "GET",
  url: FILES_URL,
  summary: "List a folder of a box",
  example: { params: { id: "box_4Zb0x7" } },
  operation: "sandbox.read",
  tool: BOX_TOOLS.list_files,
  params: BoxParams,
  query: z.object({
    path: path.default(WORKSPACE),
    hidden: z.literal("1").optional().describe("1 includes names that begin with a dot"),
  }),
  reply: z.object({
    path: z.string().describe("The requested path"),
    files: z
      .array(
        z
          .object({
            name: z.string().describe("Name in the folder"),
            path: z.string().describe("Path to read, write or delete it"),
            type: z.enum(["file", "directory", "link", "other"]).describe("Kind of entry"),
            size: z.int().describe("Size in bytes"),
            modifiedAt: isoTimeSchema.describe("Time of the last change, by the box's clock"),
            replacedBytes: z
              .literal(true)
              .exactOptional()
              .describe("True if the name is not UTF-8; then only a command can open the file"),
          })
          .meta({ id: "FileEntry", description: "A file or folder in a box" }),
      )
      .describe("Sorted by name"),
  }),
  specGap:
    "The specification has no field for names that are not text. `replacedBytes` is added, only for those names.",
  refusalCodes: BOX_REFUSALS,
  handle: (ports, caller, { params, query }) =>
    withRunningBox(ports, caller, params.id, async (box) => {
      const listed = await ports.boxFiles.listFolder(box, query.path, {
        hidden: query.hidden !== undefined,
      })
      if (!listed.ok) return { ok: false, refusal: refusalFromFault(listed) }
      const folder = query.path.endsWith("/") ? query.path : `${query.path}/`
      const files = listed.entries.map(({ name, type, size, modifiedAt, isReplaced }) => ({
        name,
        path: `${folder}${name}`,
        type,
        size,
        modifiedAt: timeText(modifiedAt),
        ...(isReplaced ? { replacedBytes: true as const } : {}),
      }))
      return { ok: true, body: { path: query.path, files } }
    }),
})

/** Renders a time that the box reports; an impossible one becomes the epoch. */
const timeText = (at: number): string =>
  new Date(Number.isFinite(at) && Math.abs(at) < 8.64e15 ? Math.max(at, 0) : 0).toISOString()

export const fileRead = route({
  ...BOX_ROUTE,
  name: "readFile",
  method: "GET",
  url: CONTENT_URL,
  summary: "Read a file of a box",
  example: { params: { id: "box_4Zb0x7" }, query: { path: "README.md" } },
  operation: "sandbox.read",
  tool: BOX_TOOLS.read_file,
  params: BoxParams,
  query: z.object({
    path,
    encoding: encoding
      .default("utf-8")
      .describe("base64 returns the bytes unchanged; needed for files that are not UTF-8"),
  }),
  reply: z.object({
    path: z.string().describe("The requested path"),
    content: z.string().describe("The whole file"),
    encoding: encoding.describe("Encoding of the content"),
  }),
  refusalCodes: FILE_REFUSALS,
  handle: (ports, caller, { params, query }) =>
    withRunningBox(ports, caller, params.id, async (box) => {
      const read = await ports.boxFiles.readFile(box, query.path, MAX_READ_BYTES)
      if (!read.ok) return { ok: false, refusal: refusalFromFault(read) }
      const bytes = Buffer.from(read.bytes.buffer, read.bytes.byteOffset, read.bytes.byteLength)
      const isBytes = query.encoding === "base64"
      const content = isBytes ? bytes.toString("base64") : decodeUtf8(bytes)
      if (!isBytes && hasReplacementCharacters(bytes, content)) {
        return {
          ok: false,
          refusal: refusal("validation", NO_TEXT, { fields: { encoding: NO_TEXT } }),
        }
      }
      return { ok: true, body: { path: query.path, content, encoding: query.encoding } }
    }),
})

// The specification gives the tools of AI clients no `encoding` argument.
const NO_TEXT =
  "This file is not UTF-8 text. Read it with encoding=base64; AI clients run `base64 FILE` with run_command."

const WriteFileRequest = z.object({
  path,
  content: z
    .string()
    .refine((text) => text.isWellFormed(), "Must be well-formed Unicode.")
    .refine(
      (text) => !isLongerThan(text, MAX_CONTENT_CHARACTERS),
      "Must be at most 5,000,000 characters.",
    )
    .describe("The whole file"),
  encoding: encoding
    .default("utf-8")
    .describe("Encoding of the content; base64 may contain white space and omit its padding"),
})

/** Decodes base64, with or without white space and padding; null if the text is not base64. */
function base64Bytes(text: string): Buffer | null {
  const compact = text.replaceAll(/\s/g, "")
  const [, digits, filling] = /^([A-Za-z\d+/]*)(={0,2})$/.exec(compact) ?? []
  if (digits === undefined) return null
  const isComplete = filling === "" ? digits.length % 4 !== 1 : compact.length % 4 === 0
  return isComplete ? Buffer.from(compact, "base64") : null
}

/** Creates or replaces a file. */
export const fileWrite = route({
  ...BOX_ROUTE,
  name: "writeFile",
  method: "PUT",
  url: CONTENT_URL,
  summary: "Create or replace a file of a box",
  example: { params: { id: "box_4Zb0x7" }, body: { path: "notes.md", content: "# Notes\n" } },
  operation: "sandbox.files.write",
  additionalOperations: ["sandbox.read"],
  tool: BOX_TOOLS.write_file,
  bodyLimitBytes: MAX_BODY_BYTES,
  params: BoxParams,
  body: WriteFileRequest,
  reply: z.object({
    ok: z.literal(true).describe("The file is written completely"),
    path: z.string().describe("The requested path"),
  }),
  refusalCodes: BOX_REFUSALS,
  handle: (ports, caller, { params, body }) =>
    withRunningBox(ports, caller, params.id, async (box, found) => {
      const isBytes = body.encoding === "base64"
      const bytes = isBytes ? base64Bytes(body.content) : Buffer.from(body.content, "utf8")
      if (bytes === null) {
        const fields = { content: "Must be base64." }
        const why = refusal(
          "validation",
          "The content is not base64. Send base64, or encoding=utf-8 for text.",
          { fields },
        )
        return { ok: false, refusal: why }
      }
      const written = await ports.boxFiles.writeFile(box, body.path, bytes)
      const result = written.ok ? `${bytes.length} bytes` : written.reason
      await logCallerActivity(ports, caller, found, {
        action: "write_file",
        detail: body.path,
        result,
      })
      if (!written.ok) return { ok: false, refusal: refusalFromFault(written) }
      return { ok: true, body: { ok: true, path: body.path } }
    }),
})

export const fileDelete = route({
  ...BOX_ROUTE,
  name: "deleteFile",
  method: "DELETE",
  url: CONTENT_URL,
  summary: "Delete a file of a box",
  example: { params: { id: "box_4Zb0x7" }, query: { path: "notes.md" } },
  operation: "sandbox.files.write",
  tool: BOX_TOOLS.delete_file,
  params: BoxParams,
  query: z.object({ path }),
  reply: z.object({
    ok: z.literal(true).describe("The file is deleted"),
    path: z.string().describe("The requested path"),
  }),
  refusalCodes: BOX_REFUSALS,
  handle: (ports, caller, { params, query }) =>
    withRunningBox(ports, caller, params.id, async (box, found) => {
      const removed = await ports.boxFiles.removeFile(box, query.path)
      const result = removed.ok ? "deleted" : removed.reason
      await logCallerActivity(ports, caller, found, {
        action: "delete_file",
        detail: query.path,
        result,
      })
      if (!removed.ok) return { ok: false, refusal: refusalFromFault(removed) }
      return { ok: true, body: { ok: true, path: query.path } }
    }),
})
