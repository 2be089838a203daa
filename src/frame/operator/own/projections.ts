/** Read models: how they stand, folding one anew, and comparing it with a rebuild. */
import { z } from "zod"
import { FoldFault } from "../../../../adapters/postgres/projector/port.ts"
import { tokenOf } from "../../calls/position-token.ts"
import { renderFields, renderTable } from "../cli/render.ts"
import { showWrites } from "../inputs.ts"
import type { AdminContext, AdminOperation } from "../operation.ts"
import { OperatorRefused, operation } from "../operation.ts"

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
      position: one.position.commit < 0n ? null : tokenOf(one.position, ports.storeGeneration),
    })),
    corruptStreams: ports.corrupt.all(),
  }),
})

const rebuild = operation({
  name: "projections rebuild",
  summary: "fold a read model anew beside the live one, then swap them",
  notes: ["leftOut: the corrupt streams, and from which revision on no read model shows them."],
  example: "projections rebuild charges",
  changes: true,
  isPatient: true,
  input: z.object({
    name: z
      .string()
      .meta({ description: "the read model", argument: "NAME", suggests: "read models" }),
  }),
  run: async (context, { name }) => {
    await refuseUnlessReadModel(context, name)
    await context.ports.projector.rebuild(name, reporter(context, name)).catch((error: unknown) => {
      if (!(error instanceof FoldFault)) throw error
      throw new OperatorRefused("conflict", `${name} cannot be built: ${error.message}`)
    })
    return { name, rebuilt: true, leftOut: context.ports.corrupt.all() }
  },
})

const verify = operation({
  name: "projections verify",
  summary: "compare read models with a rebuild of each; exit code 1 where one differs",
  example: "projections verify charges",
  isPatient: true,
  isVerdict: true,
  input: z.object({
    name: z.string().optional().meta({
      description: "one read model; default all",
      argument: "NAME",
      suggests: "read models",
    }),
  }),
  run: async (context, { name }) => {
    if (name !== undefined) await refuseUnlessReadModel(context, name)
    const projections = await verifyProjections(context, name)
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
async function refuseUnlessReadModel({ ports }: AdminContext, name: string): Promise<void> {
  const { projector } = ports
  if (projector.rebuildable.includes(name)) return
  const listed = (await projector.status()).some((one) => one.name === name)
  if (!listed) return
  const message =
    `${name} is no read model: its rows follow from facts once, and go when they are done. ` +
    "It is never folded anew."
  throw new OperatorRefused("validation", message)
}

/** Compares read models (default all that are folds) with a rebuild of each. */
export async function verifyProjections(context: AdminContext, name?: string) {
  const { projector } = context.ports
  await showWrites(context.ports)
  const names = name === undefined ? projector.rebuildable : [name]
  const found = []
  for (const one of names) found.push(await projector.verify(one, reporter(context, one)))
  return found
}

function reporter({ progress }: AdminContext, name: string): (events: number) => void {
  let reported = 0
  return (events) => {
    if (events - reported < REPORT_EVERY) return
    reported = events
    progress(`${name}: ${events} events`)
  }
}

/** Operations on read models. */
export const projectionOperations: readonly AdminOperation[] = [status, rebuild, verify]
