/**
 * What was done in a box, with the key that did it: the newest 200 entries, the details sealed under the
 * key of the box's person, for commands hold secrets. It is a journal and no facts: what is in it decides
 * nothing.
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
/** A command of 10,000 characters says in its first what it is. */
const MAX_DETAIL = 1_000

const KIND = { slice: "boxes", kind: "activity", maxEntries: MAX_ENTRIES }

/** Every kind of thing that is done in boxes. */
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

/** Something that was done in a box. */
export type BoxAction = (typeof BOX_ACTIONS)[number]

interface StoredActivity {
  readonly action: BoxAction
  readonly detail: SealedText | null
  readonly result: string
  readonly keyId: KeyId | null
}

/** Something that was done. */
export interface LoggedActivity {
  readonly action: BoxAction
  /** What exactly: a command, a path; null where the action says all. */
  readonly detail: string | null
  /** What it came to, in a word or two. */
  readonly result: string
}

/** Notes what a caller did in a box. */
export async function logCallerActivity(
  ports: Needs,
  { spender }: Pick<Caller, "spender">,
  box: FoundBox,
  done: LoggedActivity,
): Promise<void> {
  await logActivity(ports, spender.keyId, box, done)
}

/** Notes what happened in a box; `keyId` is null where no key did it. */
export async function logActivity(
  ports: Needs,
  keyId: KeyId | null,
  box: FoundBox,
  { result, ...begun }: LoggedActivity,
): Promise<void> {
  await addEntry(ports, keyId, box, begun, result)
}

/**
 * Notes what a caller begins to do in a box, and then what came of it: of what nobody sees the end of, as
 * when this process is killed, it stays known that it began.
 *
 * @returns what notes the result; it waits for the entry
 */
export function logStartedActivity(
  ports: Needs,
  { spender: { keyId } }: Pick<Caller, "spender">,
  box: FoundBox,
  begun: Omit<LoggedActivity, "result">,
): (result: string) => Promise<void> {
  const added = addEntry(ports, keyId, box, begun, "began")
  // Whoever notes the result hears of it.
  added.catch(() => undefined)
  return async (result) => {
    const { place, content } = await added
    await ports.activityLog
      .of<StoredActivity>(KIND)
      .update(box.companyId, place, { ...content, result })
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
  const place = await activityLog
    .of<StoredActivity>(KIND)
    .add(companyId, boxId, { at: clock.now(), content })
  return { place, content }
}

/** The beginning. */
const shorten = (text: string): string => `${firstCharacters(text, MAX_DETAIL - 1)}…`

const BoxEvent = z
  .object({
    at: isoTimeSchema.describe("When it was done"),
    action: z.enum(BOX_ACTIONS).describe("What was done"),
    detail: z.string().nullable().describe("A command, a path; null for nothing, or once erased"),
    result: z
      .string()
      .describe("What it came to; of a command that runs, or whose end nobody saw: began"),
    apiKeyId: describedIdOrNull("the key that did it; null for nobody's"),
  })
  .meta({ id: "BoxEvent", description: "Something that was done in a box" })

const STARTED = { action: "start", detail: null, result: "started" } as const

/** Lists what was done in a box. */
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
    // That is a fact, which nobody has to note.
    const { at, keyId } = view.started
    const start = { ...STARTED, at: new Date(at).toISOString(), apiKeyId: keyId }
    return { ok: true, body: { events: [...events, start].slice(0, MAX_ENTRIES) } }
  },
})
