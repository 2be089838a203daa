/** Operations on read models: status, rebuild and verification. */
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
  summary: "show the status of the read models",
  notes: [
    "behind: events the projector has read and not yet written; - where another process updates the read model.",
    "rebuildable: whether it is a read model. Jobs, for example, are written once and never rebuilt.",
    "corruptStreams: the corrupt streams, the first revision that is held back, and why. No read model shows events that are held back.",
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
  summary: "rebuild a read model next to the live one, then swap them",
  notes: [
    "corruptStreams: the corrupt streams, and from which revision on no read model shows them.",
  ],
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
        throw new OperatorRefused("conflict", `${name} cannot be rebuilt: ${error.message}`)
      })
    return { name, rebuilt: true, corruptStreams: context.ports.corruptList.all() }
  },
})

const verify = operation({
  name: "projections verify",
  summary: "compare read models with a rebuild; exit code 1 if one differs",
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
      // A rebuild that stops at a fault has no tables to compare.
      tables.length === 0 ? [whole] : tables.map((table) => ({ ...whole, ...table })),
    )
    return renderFields([["ok", ok]]) + renderTable(rows, page, "read models")
  },
})

/** @throws OperatorRefused for a projection that is listed and is not a read model */
async function requireReadModel({ ports }: AdminContext, name: string): Promise<void> {
  const { projector } = ports
  if (projector.rebuildable.includes(name)) return
  const listed = (await projector.status()).some((one) => one.name === name)
  if (!listed) return
  const message =
    `${name} is not a read model: its rows are written once and deleted when they are done. ` +
    "It cannot be rebuilt."
  throw new OperatorRefused("validation", message)
}

/**
 * Compares read models with a rebuild of each.
 *
 * @param names default all read models
 * @param companyId the only company whose rows are compared; null for all
 * @param onProgress receives the number of events read and the position of the last
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

/**
 * Selects the events behind a company's rows: its own, and those of the installation that do not
 * name another company.
 */
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

/**
 * Whether an event of the installation is about another company. Invalid JSON is left to the
 * event's reader, which reports it.
 */
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

export const projectionOperations: readonly AdminOperation[] = [status, rebuild, verify]
