/** Read models: how they stand, folding one anew, and comparing it with a rebuild. */
import { z } from "zod"
import type { StoredEvent } from "../../adapters/eventstore/port.ts"
import type {
  ComparisonScope,
  ReadModelVerification,
} from "../../adapters/postgres/projector/port.ts"
import { FoldFault } from "../../adapters/postgres/projector/port.ts"
import type { CompanyId } from "../../domain/kernel/ids.ts"
import { companyOfStream } from "../../domain/kernel/aggregate.ts"
import { formatPositionToken } from "../frame/routes/checks/6-position.ts"
import { renderFields, renderTable } from "../frame/operator/cli/render.ts"
import type { Streams } from "../frame/writer/streams.ts"
import { waitForOwnWrites } from "../frame/operator/inputs.ts"
import type { AdminContext, AdminOperation } from "../frame/operator/operation.ts"
import { OperatorRefused, operation } from "../frame/operator/operation.ts"

const REPORT_EVERY = 10_000

const status = operation({
  name: "projections status",
  summary: "show how the read models stand",
  notes: [
    "behind: events handed over and not yet written; - where another process keeps the read model up.",
    "rebuildable: whether it is a read model. What is not, such as work, is written once and never folded anew.",
    "corruptStreams: the streams that are held back, from which revision on, and why. No read model shows what is held back.",
  ],
  example: "projections status",
  input: z.object({}),
  run: async ({ ports }) => ({
    projections: (await ports.projector.status()).map((one) => ({
      ...one,
      rebuildable: ports.projector.rebuildable.includes(one.name),
      position:
        one.position.commit < 0n ? null : formatPositionToken(one.position, ports.storeGeneration),
    })),
    corruptStreams: ports.corruptList.all(),
  }),
})

const rebuild = operation({
  name: "projections rebuild",
  summary: "fold a read model anew beside the live one, then swap them",
  notes: ["leftOut: the corrupt streams, and from which revision on no read model shows them."],
  example: "projections rebuild charges",
  changes: true,
  isLongRunning: true,
  input: z.object({
    name: z
      .string()
      .meta({ description: "the read model", argument: "NAME", suggests: "read models" }),
  }),
  run: async (context, { name }) => {
    await requireReadModel(context, name)
    await context.ports.projector
      .rebuild(name, progressReporter(context, name))
      .catch((error: unknown) => {
        if (!(error instanceof FoldFault)) throw error
        throw new OperatorRefused("conflict", `${name} cannot be built: ${error.message}`)
      })
    return { name, rebuilt: true, leftOut: context.ports.corruptList.all() }
  },
})

const verify = operation({
  name: "projections verify",
  summary: "compare read models with a rebuild of each; exit code 1 where one differs",
  example: "projections verify charges",
  isLongRunning: true,
  isVerdict: true,
  input: z.object({
    name: z.string().optional().meta({
      description: "one read model; default all",
      argument: "NAME",
      suggests: "read models",
    }),
  }),
  run: async (context, { name }) => {
    if (name !== undefined) await requireReadModel(context, name)
    const report = progressReporter(context, name ?? "read models")
    const names = name === undefined ? null : [name]
    const projections = await verifyProjections(context, names, null, report)
    return { ok: projections.every((one) => one.same), projections }
  },
  render: ({ ok, projections }, page) => {
    const rows = projections.flatMap(({ tables, ...whole }) =>
      // Where a rebuild stops at a fault, there are no tables to compare.
      tables.length === 0 ? [whole] : tables.map((table) => ({ ...whole, ...table })),
    )
    return renderFields([["ok", ok]]) + renderTable(rows, page, "read models")
  },
})

/** @throws OperatorRefused for what stands in the list and is none, with the reason */
async function requireReadModel({ ports }: AdminContext, name: string): Promise<void> {
  const { projector } = ports
  if (projector.rebuildable.includes(name)) return
  const listed = (await projector.status()).some((one) => one.name === name)
  if (!listed) return
  const message =
    `${name} is no read model: its rows follow from facts once, and go when they are done. ` +
    "It is never folded anew."
  throw new OperatorRefused("validation", message)
}

/**
 * Compares read models with a rebuild of each.
 *
 * @param names default all that are folds
 * @param companyId the only company whose rows are compared; null for all
 * @param progress notes how many events were folded, and the place of the last
 */
export async function verifyProjections(
  { ports, signal }: Pick<AdminContext, "ports" | "signal">,
  names: readonly string[] | null,
  companyId: CompanyId | null,
  onProgress: ComparisonScope["onProgress"],
): Promise<readonly ReadModelVerification[]> {
  const { projector, streams } = ports
  await waitForOwnWrites(ports)
  const own = companyId === null ? ALL_EVENTS : eventsOf(companyId, streams)
  return projector.verify(names ?? projector.rebuildable, { companyId, ...own, onProgress, signal })
}

const ALL_EVENTS: Pick<ComparisonScope, "range" | "isWanted"> = { range: {}, isWanted: () => true }

/** The events that a company's rows are made of: its own, and the installation's that do not name another. */
function eventsOf(
  companyId: CompanyId,
  streams: Streams,
): Pick<ComparisonScope, "range" | "isWanted"> {
  const installation = streams.perInstallation.map(({ stream }) => stream)
  return {
    range: { prefixes: [...streams.prefixesOf(companyId), ...installation], isSelective: true },
    isWanted: (stored) => {
      const owner = companyOfStream(stored.stream)
      return owner === null ? !isAboutOtherCompany(stored, companyId) : owner === companyId
    },
  }
}

/** Whether an event of the installation is about another company. One that is no JSON is for its reader to name. */
function isAboutOtherCompany({ data }: StoredEvent, companyId: CompanyId): boolean {
  const named = /"companyId":"([^"]*)"/.exec(data)?.[1]
  return named !== undefined && named !== companyId
}

function progressReporter({ progress }: AdminContext, name: string): (events: number) => void {
  let reported = 0
  return (events) => {
    if (events - reported < REPORT_EVERY) return
    reported = events
    progress(`${name}: ${events} events`)
  }
}

/** Operations on read models. */
export const projectionOperations: readonly AdminOperation[] = [status, rebuild, verify]
