/** Making a box that was started: the machine, then the code in it. */
import { z } from "zod"
import type { Box } from "../../../adapters/sandbox/boxhost/port.ts"
import { BoxGone, BoxRefused } from "../../../adapters/sandbox/boxhost/port.ts"
import { inTime, isOutside } from "../../../adapters/providers/outside.ts"
import { boxStreamOf } from "../../../domain/boxes/aggregates.ts"
import type { BoxCommand } from "../../../domain/boxes/box-commands.ts"
import { BOX_SIZES } from "../../../domain/boxes/box-size.ts"
import type { FailReason } from "../../../domain/boxes/box-events.ts"
import type { BoxView } from "../../../domain/boxes/box.ts"
import { boxOf } from "../../../domain/boxes/box.ts"
import type { BoxId } from "../../../domain/boxes/ids.ts"
import { parseBoxId } from "../../../domain/boxes/ids.ts"
import type { CompanyId } from "../../../domain/kernel/ids.ts"
import { parsePersonId } from "../../../domain/kernel/ids.ts"
import { effect } from "../../frame/effects/effect.ts"
import { idSchema, sealed } from "../../frame/kernel/schema.ts"
import type { Cause } from "../../frame/kernel/envelope.ts"
import type { Ports } from "../../frame/ports.ts"
import { noteBy } from "../activity.ts"
import { CodeNotBrought, bringCode } from "../bring-code.ts"
import { readBox } from "../find-box.ts"
import { FIRST_LEASE_MS } from "../leases.ts"
import { settleFirstMinute } from "../reconciled-box.ts"

declare module "../../frame/counts.ts" {
  interface Counted {
    /** Boxes that were to be made, by what came of it. */
    readonly box_starts: "result"
    /** How long those took together that ran, from the call on, seconds. */
    readonly box_start_seconds: never
  }
}

/** Who waits for longer than this for a box has none: it failed. */
const MADE_WITHIN_MS = 3 * 60_000
/** A large repository is brought within this. */
const ACT_WITHIN_MS = 2 * 60_000

const NO_NETWORK = "The machine gives boxes no way to the internet."

const Payload = z.object({
  boxId: idSchema(parseBoxId),
  personId: idSchema(parsePersonId),
  size: z.enum(BOX_SIZES),
  branch: sealed,
  startedAt: z.number(),
})

type Payload = z.infer<typeof Payload>
type Answer =
  | { readonly is: "made"; readonly commit: string | null; readonly host: string }
  | { readonly is: "failed"; readonly reason: FailReason }

/** Records what became of it, and answers how the box stands after it. */
async function record(
  { runner }: Ports,
  companyId: CompanyId,
  command: BoxCommand,
  cause: Cause,
): Promise<BoxView | null> {
  const stream = boxStreamOf(companyId, command.boxId)
  return (await runner.execute(stream, command, cause, boxOf)).view
}

/** The reaction that makes boxes. */
export const makeBox = effect<Payload, Answer>({
  kind: "create-box",
  payload: Payload,
  provider: "the host of boxes",
  about: "this box",
  unknownTo: "nobody knows this box",
  endsWithCompany: true,
  isPersonal: true,
  isLong: true,
  withinMs: ACT_WITHIN_MS,
  times: { unavailableForMs: 60_000 },
  from: {
    BoxStarted: ({ boxId, personId, size, branch, at }) => {
      const payload = { boxId, personId, size, branch, startedAt: at }
      return [{ name: boxId, payload, dueAt: at }]
    },
  },
  begunAt: ({ startedAt }) => startedAt,
  look: async (ports, { companyId, payload: { boxId, startedAt } }, cause) => {
    let view = await readBox(ports, companyId, boxId)
    const isLate = ports.clock.now() - startedAt > MADE_WITHIN_MS
    if (view?.status === "starting" && isLate) {
      const failed = { type: "FailBox" as const, boxId, reason: "box_unavailable" as const }
      view = await record(ports, companyId, failed, cause)
    }
    if (view === null) return "not there"
    return (await settleFirstMinute(ports, companyId, view, cause)) ? "ended" : "open"
  },
  act: async (ports, { companyId, payload }) => {
    try {
      return await make(ports, companyId, payload)
    } catch (error) {
      // Somebody stopped it in the middle, or it died: it never ran.
      if (error instanceof BoxRefused || error instanceof BoxGone) {
        return { is: "failed", reason: "box_unavailable" }
      }
      if (error instanceof CodeNotBrought) return { is: "failed", reason: "clone_failed" }
      throw error
    }
  },
  // Making it again finds what is there and goes on with that.
  ask: async () => "unknown",
  isRepeatable: () => true,
  end: async (ports, { companyId, payload: { boxId } }, answer, cause) => {
    const command =
      answer.is === "made"
        ? { type: "RunBox" as const, boxId, commit: answer.commit, host: answer.host }
        : { type: "FailBox" as const, boxId, reason: answer.reason }
    const view = await record(ports, companyId, command, cause)
    if (view !== null) await settleFirstMinute(ports, companyId, view, cause)
    ports.counts.add("box_starts", { result: answer.is })
    if (view !== null && view.runningAt !== null) {
      const seconds = (view.runningAt - view.started.at) / 1_000
      ports.counts.add("box_start_seconds", {}, seconds)
    }
    // It ended while it was made, or another host has it: nobody else may know of this machine.
    const isHere = view?.status === "running" && view.host === ports.boxHost.hostId
    if (!isHere) await endMachine(ports, boxId)
    return true
  },
  unavailable: { is: "failed", reason: "box_unavailable" },
  unknown: async () => ({ is: "failed", reason: "box_unavailable" }),
  givenUp: { is: "failed", reason: "discarded" },
})

/** Ends a machine that nobody is to know of; one whose host says nothing ends with its lease. */
async function endMachine({ boxHost, pacer, log }: Ports, boxId: BoxId): Promise<void> {
  const stop = async () => (await boxHost.find(boxId))?.stop()
  try {
    await inTime(pacer, "the host of boxes", stop())
  } catch (error) {
    if (!isOutside(error)) throw error
    log.info("a machine that is of no use could not be ended", { boxId, error: error.message })
  }
}

/** Makes the machine, and brings the code. */
async function make(ports: Ports, companyId: CompanyId, payload: Payload): Promise<Answer> {
  const { boxId, size, personId } = payload
  const branch = (await ports.sealing.open(companyId, payload.branch)) ?? ""
  const box: Box = await ports.boxHost.start({
    boxId,
    companyId,
    size,
    leaseMs: FIRST_LEASE_MS,
    environment: environmentOf(boxId, branch),
  })
  const commit = await bringCode(ports, box, { companyId, personId, branch })
  const { network } = await box.hello()
  if (network === "none") {
    const done = { action: "notice", detail: NO_NETWORK, result: "network: none" } as const
    const view = await readBox(ports, companyId, boxId)
    if (view !== null) await noteBy(ports, null, { companyId, boxId, view }, done)
  }
  return { is: "made", commit, host: ports.boxHost.hostId }
}

const environmentOf = (boxId: BoxId, branch: string) => ({ BOX_ID: boxId, BOX_BRANCH: branch })
