/** `POST /api/v1/sandboxes`: slot, room, charge, answer; `make-box.ts` makes it. */
import type { z } from "zod"
import { boxStreamOf } from "../../domain/boxes/aggregates.ts"
import { boxOf, isAbandoned } from "../../domain/boxes/box.ts"
import type { BoxView } from "../../domain/boxes/box.ts"
import { inTime, isOutside } from "../../adapters/providers/outside.ts"
import type { CompanyId, KeyId, PersonId } from "../../domain/kernel/ids.ts"
import { causeOf } from "../frame/routes/call.ts"
import { RATE_LIMITS } from "../frame/routes/checks/rate-limits.ts"
import type { Refusal } from "../frame/routes/answers/refusal.ts"
import { refusal } from "../frame/routes/answers/refusal.ts"
import type { Caller, Checked } from "../frame/routes/declare/route.ts"
import { route } from "../frame/routes/declare/route.ts"
import { charged } from "../frame/effects/charged.ts"
import type { Named, Price } from "../frame/effects/charged-spec.ts"
import type { Ports } from "../frame/ports.ts"
import { beginOf } from "./bring-code.ts"
import type { BoxAnswer } from "./box-reply.ts"
import { BoxReply, boxAnswer } from "./box-reply.ts"
import {
  BOX_UNAVAILABLE,
  BUDGET_TOO_SMALL,
  CLONE_FAILED,
  TOO_MANY_BOXES,
  unavailable,
} from "./codes.ts"
import { BOX_PREFIX } from "./reconciled-box.ts"
import { freeSlot, takeSlot } from "./slots.ts"
import { minuteName } from "../frame/effects/minutes.ts"
import { START_RULES, StartBox, priceOfStart, unpushable } from "./start-rules.ts"
import { BOX_TOOLS } from "./tools.ts"

/** Who starts what. */
interface Draft extends StartBox {
  readonly companyId: CompanyId
  readonly keyId: KeyId
  readonly personId: PersonId
  readonly price: Price
  readonly budgetMicros: number | null
}

type Box = Named<typeof BOX_PREFIX>

const NO_COMMIT = "The company's repository has no commit yet; push code first."
const NO_PERSON = "This takes a person's own key, not the app's shared one."

/** Takes a slot, and looks whether the machine has room: both before any money. */
async function hold(
  ports: Ports,
  caller: Caller,
  { companyId, size }: Draft,
  { id }: Box,
): Promise<{ readonly refusal: Refusal } | null> {
  const full = await takeSlot(ports, companyId, id, causeOf(caller))
  if (full !== null) return full
  const room = await inTime(ports.pacer, "the host of boxes", ports.boxHost.hasRoom(size)).catch(
    (error: unknown) => {
      if (isOutside(error)) return false
      throw error
    },
  )
  if (room) return null
  await freeSlot(ports, companyId, id, causeOf(caller))
  return { refusal: unavailable() }
}

const box = charged<Checked<z.infer<typeof StartBox>>, Draft, object, BoxAnswer, typeof BOX_PREFIX>(
  {
    prefix: BOX_PREFIX,
    chargeId: (id) => minuteName(id, 1),
    undone: "the box could not be started",
    draft: async (ports, { companyId, key, person }, { body }) => {
      if (key === null || person === null) return { refusal: refusal("not_allowed", NO_PERSON) }
      const priced = await priceOfStart(ports, body)
      if ("refusal" in priced) return priced
      return { ...body, companyId, keyId: key.keyId, personId: person.personId, ...priced }
    },
    prepare: async ({ companyCode }, { companyId, branch }) => {
      const code = await companyCode.find(companyId)
      if (code === null) return { refusal: refusal(CLONE_FAILED, CLONE_FAILED.example.message) }
      if (beginOf(code, branch) === null) return { refusal: refusal(CLONE_FAILED, NO_COMMIT) }
      const fault = unpushable(branch, code.tips)
      return fault === null ? {} : { refusal: fault }
    },
    price: async (_ports, { price }) => price,
    holds: {
      take: (ports, caller, draft, _prepared, named) => hold(ports, caller, draft, named),
      free: (ports, caller, { companyId }, { id }) =>
        freeSlot(ports, companyId, id, causeOf(caller)),
    },
    resource: (_draft, id) => id,
    intend: async ({ runner, sealing }, caller, draft, _prepared, { id: boxId, chargeId }) => {
      const { companyId, personId, keyId, size, maxMinutes, idleMinutes, budgetMicros } = draft
      const { unitPriceMicros, priceVersion } = draft.price
      const seal = (text: string) => sealing.seal(companyId, personId, text)
      const started = await runner.execute(
        boxStreamOf(companyId, boxId),
        {
          type: "StartBox",
          boxId,
          chargeId,
          keyId,
          personId,
          size,
          maxMinutes,
          idleMinutes,
          budgetMicros,
          unitPriceMicros,
          priceVersion,
          branch: await seal(draft.branch),
          label: draft.label === null ? null : await seal(draft.label),
        },
        causeOf(caller),
        boxOf,
      )
      // Else it was abandoned meanwhile.
      if (!started.accepted || started.view === null) return "again"
      if (started.facts.length === 0) return "found"
      return { reply: replyOf(draft, boxId, started.view), position: started.position }
    },
    begun: async ({ runner }, { companyId }, boxId) => {
      const stream = boxStreamOf(companyId, boxId)
      if (await runner.read(stream, isAbandoned)) return "undone"
      return (await runner.read(stream, boxOf)) === null ? "no" : "yes"
    },
    reply: async ({ runner }, draft, boxId) => {
      const view = await runner.read(boxStreamOf(draft.companyId, boxId), boxOf)
      if (view === null) throw new Error(`box ${boxId} is known to have been started`)
      return { reply: replyOf(draft, boxId, view), position: null }
    },
  },
)

/** The box right after its start, whatever became of it since. */
function replyOf(draft: Draft, id: string, { started }: BoxView): BoxAnswer {
  return boxAnswer({
    id,
    ...started,
    branch: draft.branch,
    label: draft.label,
    status: "starting",
    startedAt: started.at,
    runningAt: null,
    stoppedAt: null,
    stopReason: null,
    minutes: 1,
    previews: [],
  })
}

/** The route. */
export const startBox = route({
  name: "startBox",
  method: "POST",
  url: "/api/v1/sandboxes",
  group: "boxes",
  summary: "Start a box",
  example: { body: { size: "small", branch: "main", maxMinutes: 30, label: "Fix the tests" } },
  ...START_RULES,
  also: ["sandbox.read"],
  counted: true,
  limit: RATE_LIMITS.paid,
  tool: BOX_TOOLS.start_box,
  body: StartBox,
  reply: BoxReply,
  success: [201],
  refuses: [
    BUDGET_TOO_SMALL,
    CLONE_FAILED,
    TOO_MANY_BOXES,
    BOX_UNAVAILABLE,
    ...(["spend_limit_reached", "payment_required"] as const),
  ],
  ...box,
})
