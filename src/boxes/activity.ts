/**
 * The activity log of a box: the newest 200 entries, each with the key that acted. Details are sealed under
 * the key of the box's person, because commands hold secrets. No decision depends on an entry.
 */
import { z } from "zod"
import type { KeyId, SealedText } from "../../domain/kernel/ids.ts"
import type { Caller } from "../frame/routes/declare/route.ts"
import { route } from "../frame/routes/declare/route.ts"
import { describedIdOrNull, isoTimeSchema } from "../frame/kernel/schema.ts"
import type { Ports } from "../frame/ports.ts"
import { firstCharacters } from "./truncate-text.ts"
import type { FoundBox } from "./find-box.ts"
import { findVisibleBox } from "./find-box.ts"
import { BOX_ROUTE, BoxParams } from "./box-route.ts"
import { BOX_TOOLS } from "./tools.ts"

type Needs = Pick<Ports, "clock" | "activityLog" | "sealing">

const MAX_ENTRIES = 200
/** The start of a long command is enough to recognize it. */
const MAX_DETAIL = 1_000

const KIND = { slice: "boxes", kind: "activity", maxEntries: MAX_ENTRIES }

/** All actions that the activity log records. */
export const BOX_ACTIONS = [
  "start",
  "exec",
  "start_process",
  "stop_process",
  "write_file",
  "delete_file",
  "open_preview",
  "preview",
  "close_preview",
  "push",
  "stop",
  "notice",
] as const

/** An action that the activity log records. */
export type BoxAction = (typeof BOX_ACTIONS)[number]

interface StoredActivity {
  readonly action: BoxAction
  readonly detail: SealedText | null
  readonly result: string
  readonly keyId: KeyId | null
}

/** An action and its result, to be logged. */
export interface LoggedActivity {
  readonly action: BoxAction
  /** A command or a path; null where the action needs no detail. */
  readonly detail: string | null
  /** In a word or two. */
  readonly result: string
}

/** Logs what a caller did in a box. */
export async function logCallerActivity(
  ports: Needs,
  { spender }: Pick<Caller, "spender">,
  box: FoundBox,
  done: LoggedActivity,
): Promise<void> {
  await logActivity(ports, spender.keyId, box, done)
}

/** Logs an action in a box; `keyId` is null if no key caused it. */
export async function logActivity(
  ports: Needs,
  keyId: KeyId | null,
  box: FoundBox,
  { result, ...begun }: LoggedActivity,
): Promise<void> {
  await addEntry(ports, keyId, box, begun, result)
}

/**
 * Logs that a caller starts an action. The entry says `began` until its result is known, so it survives a
 * crash of this process.
 *
 * @returns a function that records the result; it waits for the entry to be stored
 */
export function logStartedActivity(
  ports: Needs,
  { spender: { keyId } }: Pick<Caller, "spender">,
  box: FoundBox,
  begun: Omit<LoggedActivity, "result">,
): (result: string) => Promise<void> {
  const added = addEntry(ports, keyId, box, begun, "began")
  // The returned function reports the error.
  added.catch(() => undefined)
  return async (result) => {
    const { position, content } = await added
    await ports.activityLog
      .of<StoredActivity>(KIND)
      .update(box.companyId, position, { ...content, result })
  }
}

async function addEntry(
  { activityLog, sealing, clock }: Needs,
  keyId: KeyId | null,
  { companyId, boxId, view }: FoundBox,
  { action, detail }: Omit<LoggedActivity, "result">,
  result: string,
) {
  const { personId } = view.started
  const short = detail === null || detail.length <= MAX_DETAIL ? detail : shorten(detail)
  const sealed = short === null ? null : await sealing.seal(companyId, personId, short)
  const content: StoredActivity = { action, detail: sealed, result, keyId }
  const position = await activityLog
    .of<StoredActivity>(KIND)
    .add(companyId, boxId, { at: clock.now(), content })
  return { position, content }
}

const shorten = (text: string): string => `${firstCharacters(text, MAX_DETAIL - 1)}…`

const BoxEvent = z
  .object({
    at: isoTimeSchema.describe("Time of the action"),
    action: z.enum(BOX_ACTIONS).describe("The action"),
    detail: z
      .string()
      .nullable()
      .describe("A command or a path; null if there is none, or after erasure"),
    result: z
      .string()
      .describe("Result of the action; `began` while a command runs, or if its end was not seen"),
    apiKeyId: describedIdOrNull("the key that did it; null if no key did"),
  })
  .meta({ id: "BoxEvent", description: "Something that was done in a box" })

const STARTED = { action: "start", detail: null, result: "started" } as const

export const boxEvents = route({
  ...BOX_ROUTE,
  name: "listBoxEvents",
  method: "GET",
  url: "/api/v1/sandboxes/:id/events",
  summary: "Read a box's activity",
  example: { params: { id: "box_4Zb0x7" } },
  operation: "sandbox.read",
  tool: BOX_TOOLS.box_activity,
  params: BoxParams,
  reply: z.object({
    events: z.array(BoxEvent).describe(`The newest first, up to ${MAX_ENTRIES}`),
  }),
  refusalCodes: ["not_found"],
  handle: async (ports, caller, { params }) => {
    const found = await findVisibleBox(ports, caller, params.id)
    if ("refusal" in found) return { ok: false, refusal: found.refusal }
    const { companyId, boxId, view } = found
    const entries = await ports.activityLog
      .of<StoredActivity>(KIND)
      .newest(companyId, boxId, MAX_ENTRIES)
    const events = await Promise.all(
      entries.map(async ({ at, content: { action, detail, result, keyId } }) => ({
        at: new Date(at).toISOString(),
        action,
        result,
        apiKeyId: keyId,
        detail: detail === null ? null : await ports.sealing.unseal(companyId, detail),
      })),
    )
    // The start is a fact of the box, so it has no entry in the activity log.
    const { at, keyId } = view.started
    const start = { ...STARTED, at: new Date(at).toISOString(), apiKeyId: keyId }
    return { ok: true, body: { events: [...events, start].slice(0, MAX_ENTRIES) } }
  },
})
