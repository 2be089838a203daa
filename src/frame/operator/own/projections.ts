/** Read models: how they stand, folding one anew, and comparing it with a rebuild. */
import { z } from "zod"
import { FoldFault } from "../../../../adapters/postgres/projector/port.ts"
import { tokenOf } from "../../calls/position-token.ts"
import { showWrites } from "../inputs.ts"
import type { AdminContext, AdminOperation } from "../operation.ts"
import { OperatorRefused, operation } from "../operation.ts"

const REPORT_EVERY = 10_000

const status = operation({
  name: "projections status",
  input: z.object({}),
  run: async ({ ports }) => ({
    projections: (await ports.projector.status()).map((one) => ({
      ...one,
      position: one.position.commit < 0n ? null : tokenOf(one.position, ports.storeGeneration),
    })),
  }),
})

const rebuild = operation({
  name: "projections rebuild",
  isPatient: true,
  input: z.object({ name: z.string() }),
  run: async (context, { name }) => {
    await context.ports.projector.rebuild(name, reporter(context, name)).catch((error: unknown) => {
      if (!(error instanceof FoldFault)) throw error
      throw new OperatorRefused("conflict", `${name} cannot be built: ${error.message}`)
    })
    return { name, rebuilt: true }
  },
})

const verify = operation({
  name: "projections verify",
  isPatient: true,
  input: z.object({ name: z.string().optional() }),
  run: async (context, { name }) => {
    const projections = await verifyProjections(context, name)
    return { ok: projections.every((one) => one.same), projections }
  },
})

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
