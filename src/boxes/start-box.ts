/**
 * `POST /api/v1/sandboxes`: the box and the charge of its first minute, the job that creates its machine
 * and checks out the code, and the route.
 */
import { withProviderTimeout, isProviderError } from "../../adapters/providers/provider-errors.ts"
import { BoxGone, BoxRequestRejected } from "../../adapters/sandbox/boxhost/port.ts"
import { BOX_AGGREGATE, boxStreamOf } from "../../domain/boxes/aggregates.ts"
import type { BoxFailReason } from "../../domain/boxes/box-events.ts"
import { BOX_SIZES } from "../../domain/boxes/box-size.ts"
import { viewOfBox, isBoxAbandoned } from "../../domain/boxes/box.ts"
import type { BoxView } from "../../domain/boxes/box.ts"
import type { BoxId } from "../../domain/boxes/ids.ts"
import { parseBoxId } from "../../domain/boxes/ids.ts"
import type { CompanyId, KeyId, PersonId } from "../../domain/kernel/ids.ts"
import { parsePersonId } from "../../domain/kernel/ids.ts"
import { effect } from "../frame/effects/effect.ts"
import type { AttemptIds } from "../frame/effects/paid-spec.ts"
import type { Price } from "../frame/effects/price.ts"
import { paidResource } from "../frame/effects/paid-resource.ts"
import { paidRoute } from "../frame/effects/paid-route.ts"
import { idSchema, sealedTextSchema } from "../frame/kernel/schema.ts"
import type { Ports } from "../frame/ports.ts"
import type { Refusal } from "../frame/routes/answers/refusal.ts"
import { refusal } from "../frame/routes/answers/refusal.ts"
import { causeOf } from "../frame/routes/api-call.ts"
import { RATE_LIMITS } from "../frame/routes/checks/rate-limits.ts"
import type { Caller } from "../frame/routes/declare/route.ts"
import { logActivity } from "./activity.ts"
import type { BoxReplyBody } from "./box-reply.ts"
import { BoxReply, boxReply } from "./box-reply.ts"
import { CheckoutFailed, startCommitOf, checkOutCompanyCode } from "./check-out-code.ts"
import {
  BOX_UNAVAILABLE,
  BUDGET_TOO_SMALL,
  CLONE_FAILED,
  TOO_MANY_BOXES,
  boxUnavailable,
} from "./box-errors.ts"
import { readBox } from "./find-box.ts"
import { FIRST_LEASE_MS } from "./box-leases.ts"
import { minuteChargeId } from "../frame/effects/minutes.ts"
import { releaseSlot, reserveSlot } from "./box-slots.ts"
import { START_RULES, StartBoxRequest, priceOfStart, branchConflict } from "./start-rules.ts"
import { BOX_TOOLS } from "./tools.ts"
import { z } from "zod"

// The box and its charge.

const NOT_CREATED = { amountMicros: null, reason: "the box could not be made" }

/** A box as a paid resource. The first minute stays charged if the box ran, or was stopped before it ran. */
const box = paidResource({
  prefix: "box",
  aggregate: BOX_AGGREGATE,
  resolve: (companyId, resource) => {
    const id = parseBoxId(resource)
    return id === null ? null : { id, stream: boxStreamOf(companyId, id) }
  },
  view: () => (state) => (isBoxAbandoned(state) ? "abandoned" : viewOfBox(state)),
  status: ({ status, started: { chargeId } }) => {
    const end = status === "failed" ? NOT_CREATED : "settled"
    return { chargeId, charge: status === "starting" ? "pending" : end, isVoid: false }
  },
  abandonCommand: (boxId) => ({ type: "AbandonBox" as const, boxId }),
  neverBegunReason: "the box was never started",
})

// Creating the machine.

declare module "../frame/counters.ts" {
  interface CounterLabels {
    readonly box_starts: "result"
    /** Total seconds from the request to a running box. */
    readonly box_start_seconds: never
  }
}

/** A box that is not running after this time has failed. */
const CREATE_TIMEOUT_MS = 3 * 60_000
/** Enough to check out a large repository. */
const STEP_TIMEOUT_MS = 2 * 60_000

const NO_NETWORK = "This machine gives boxes no internet access."

const BoxJob = z.object({
  boxId: idSchema(parseBoxId),
  personId: idSchema(parsePersonId),
  size: z.enum(BOX_SIZES),
  branch: sealedTextSchema,
  startedAt: z.number(),
})

type BoxJob = z.infer<typeof BoxJob>
type CreateResult =
  | { readonly is: "made"; readonly commit: string | null; readonly host: string }
  | { readonly is: "failed"; readonly reason: BoxFailReason }

const createBox = effect({
  kind: "create-box",
  payload: BoxJob,
  provider: "the box host",
  label: "this box",
  missingReason: "there is no such box",
  isDiscardedOnErasure: true,
  hasPersonalData: true,
  isLong: true,
  timeoutMs: STEP_TIMEOUT_MS,
  times: { retryUnavailableForMs: 60_000 },
  on: {
    BoxStarted: ({ boxId, personId, size, branch, at }) => {
      const payload = { boxId, personId, size, branch, startedAt: at }
      return [{ name: boxId, payload, dueAt: at }]
    },
  },
  startedAt: ({ startedAt }) => startedAt,
  checkStatus: async (ports, { companyId, payload: { boxId, startedAt } }, cause) => {
    const at = { id: boxId, stream: boxStreamOf(companyId, boxId) }
    const isLate = ports.clock.now() - startedAt > CREATE_TIMEOUT_MS
    if (isLate && (await readBox(ports, companyId, boxId))?.status === "starting") {
      await box.execute(ports, at, { type: "FailBox", boxId, reason: "box_unavailable" }, cause)
    }
    return box.checkStatus(ports, companyId, at, cause)
  },
  callProvider: async (ports, { companyId, payload }): Promise<CreateResult> => {
    try {
      return await createMachine(ports, companyId, payload)
    } catch (error) {
      // The box was stopped or died before it ran.
      if (error instanceof BoxRequestRejected || error instanceof BoxGone) {
        return { is: "failed", reason: "box_unavailable" }
      }
      if (error instanceof CheckoutFailed) return { is: "failed", reason: "clone_failed" }
      throw error
    }
  },
  // A repeated start continues with the machine that it finds.
  checkProvider: async () => "unknown",
  isIdempotent: () => true,
  recordOutcome: async (ports, { companyId, payload: { boxId } }, answer, cause) => {
    const command =
      answer.is === "made"
        ? { type: "MarkBoxRunning" as const, boxId, commit: answer.commit, host: answer.host }
        : { type: "FailBox" as const, boxId, reason: answer.reason }
    const at = { id: boxId, stream: boxStreamOf(companyId, boxId) }
    const concluded = await box.conclude(ports, companyId, at, command, cause)
    const view = concluded.view === "abandoned" ? null : concluded.view
    ports.counters.increment("box_starts", { result: answer.is })
    if (view !== null && view.runningAt !== null) {
      const seconds = (view.runningAt - view.started.at) / 1_000
      ports.counters.increment("box_start_seconds", {}, seconds)
    }
    // The box ended meanwhile, or another host has it: this machine is an orphan.
    const isHere = view?.status === "running" && view.host === ports.boxHost.hostId
    if (!isHere) await endMachine(ports, boxId)
    return true
  },
  unavailableOutcome: { is: "failed", reason: "box_unavailable" },
  notReceivedOutcome: async () => ({ is: "failed" as const, reason: "box_unavailable" as const }),
  discardedOutcome: { is: "failed", reason: "discarded" },
})

/** Ends a machine without a box; if its host does not answer, the lease ends it. */
async function endMachine(
  { boxHost, pacer, log }: Pick<Ports, "boxHost" | "log" | "pacer">,
  boxId: BoxId,
): Promise<void> {
  const stop = async () => (await boxHost.find(boxId))?.stop()
  try {
    await withProviderTimeout(pacer, "the host of boxes", stop())
  } catch (error) {
    if (!isProviderError(error)) throw error
    log.info("the machine of a box that did not start could not be stopped; its lease ends it", {
      boxId,
      error: error.message,
    })
  }
}

/** Starts the machine and checks out the code. */
async function createMachine(
  ports: Ports,
  companyId: CompanyId,
  payload: BoxJob,
): Promise<CreateResult> {
  const { boxId, size, personId } = payload
  const branch = (await ports.sealing.unseal(companyId, payload.branch)) ?? ""
  const machine = await ports.boxHost.start({
    boxId,
    companyId,
    size,
    leaseMs: FIRST_LEASE_MS,
    environment: environmentOf(boxId, branch),
  })
  const commit = await checkOutCompanyCode(ports, machine, { companyId, personId, branch })
  const { network } = await machine.readHealth()
  if (network === "none") {
    const done = { action: "notice", detail: NO_NETWORK, result: "network: none" } as const
    const view = await readBox(ports, companyId, boxId)
    if (view !== null) await logActivity(ports, null, { companyId, boxId, view }, done)
  }
  return { is: "made", commit, host: ports.boxHost.hostId }
}

const environmentOf = (boxId: BoxId, branch: string) => ({ BOX_ID: boxId, BOX_BRANCH: branch })

// The route.

/** A validated start request, with its price. */
interface StartRequest extends StartBoxRequest {
  readonly companyId: CompanyId
  readonly keyId: KeyId
  readonly personId: PersonId
  readonly price: Price
  readonly budgetMicros: number | null
}

const NO_COMMIT = "The company's repository has no commit yet. Push code first."
const NO_PERSON = "Use a person's own key: the app key cannot start boxes."

/** Reserves a slot and checks that the machine has room, both before any charge. */
async function reserveCapacity(
  ports: Pick<Ports, "boxHost" | "pacer" | "runner">,
  caller: Caller,
  { companyId, size }: StartRequest,
  { id }: AttemptIds<BoxId>,
): Promise<{ readonly refusal: Refusal } | null> {
  const rejected = await reserveSlot(ports, companyId, id, causeOf(caller))
  if (rejected !== null) return rejected
  const hasRoom = await withProviderTimeout(
    ports.pacer,
    "the box host",
    ports.boxHost.hasRoom(size),
  ).catch((error: unknown) => {
    if (isProviderError(error)) return false
    throw error
  })
  if (hasRoom) return null
  await releaseSlot(ports, companyId, id, causeOf(caller))
  return { refusal: boxUnavailable() }
}

/** The reply to a start, independent of later changes. */
function replyOf(draft: StartRequest, id: string, { started }: BoxView): BoxReplyBody {
  return boxReply({
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

export const startBox = paidRoute({
  name: "startBox",
  method: "POST",
  url: "/api/v1/sandboxes",
  group: "boxes",
  summary: "Start a box",
  example: { body: { size: "small", branch: "main", maxMinutes: 30, label: "Fix the tests" } },
  ...START_RULES,
  additionalOperations: ["sandbox.read"],
  isCounted: true,
  rateLimit: RATE_LIMITS.paid,
  tool: BOX_TOOLS.start_box,
  body: StartBoxRequest,
  reply: BoxReply,
  statuses: [201],
  refusalCodes: [BUDGET_TOO_SMALL, CLONE_FAILED, TOO_MANY_BOXES, BOX_UNAVAILABLE],

  paidResource: box,
  jobs: createBox,
  chargeId: (id) => minuteChargeId(id, 1),
  refundReason: "the box could not be started",
  draft: async (ports, { companyId, key, person }, { body }) => {
    if (key === null || person === null) return { refusal: refusal("not_allowed", NO_PERSON) }
    const priced = await priceOfStart(ports, body)
    if ("refusal" in priced) return { refusal: priced.refusal }
    return { ...body, companyId, keyId: key.keyId, personId: person.personId, ...priced }
  },
  prepare: async ({ companyCode }, { companyId, branch }) => {
    const code = await companyCode.find(companyId)
    if (code === null) return { refusal: refusal(CLONE_FAILED, CLONE_FAILED.example.message) }
    if (startCommitOf(code, branch) === null) return { refusal: refusal(CLONE_FAILED, NO_COMMIT) }
    const fault = branchConflict(branch, code.tips)
    return fault === null ? {} : { refusal: fault }
  },
  price: async (_ports, { price }) => price,
  slotReservation: {
    reserve: (ports, caller, draft, named) => reserveCapacity(ports, caller, draft, named),
    release: (ports, caller, { companyId }, { id }) =>
      releaseSlot(ports, companyId, id, causeOf(caller)),
  },
  command: async ({ sealing }, _caller, draft, { id: boxId, chargeId }) => {
    const { companyId, personId, price } = draft
    const seal = (text: string) => sealing.seal(companyId, personId, text)
    return {
      type: "StartBox" as const,
      boxId,
      chargeId,
      keyId: draft.keyId,
      personId,
      size: draft.size,
      maxMinutes: draft.maxMinutes,
      idleMinutes: draft.idleMinutes,
      budgetMicros: draft.budgetMicros,
      unitPriceMicros: price.unitPriceMicros,
      priceVersion: price.priceVersion,
      branch: await seal(draft.branch),
      label: draft.label === null ? null : await seal(draft.label),
    }
  },
  answer: async (_ports, draft, id, { view }) => ({ reply: replyOf(draft, id, view) }),
})
