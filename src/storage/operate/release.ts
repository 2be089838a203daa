/** Taking a stream off the list of corrupt streams, once it is whole. */
import { z } from "zod"
import { NO_STREAM } from "../../../adapters/eventstore/port.ts"
import { NotShownElsewhere, corruptText } from "../../frame/writer/corrupt-list.ts"
import { showWrites } from "../../frame/operator/inputs.ts"
import type { AdminOperation, AdminPorts } from "../../frame/operator/operation.ts"
import { OperatorRefused, operation } from "../../frame/operator/operation.ts"
import { LeavingOut, provenAmong } from "../left-out.ts"

const release = operation({
  name: "store release",
  summary: "let a corrupt stream go on that is whole again, such as after a restore",
  notes: [
    "Every event of the stream is checked first; one that is not whole stays held back.",
    "After a restore or a copy the stream ends where its proven events end: what was left out stays lost.",
    "The read models that show the stream are rebuilt, and the jobs that were held back are queued.",
    "The stream takes commands once all of that is done. Give an interrupted release again.",
  ],
  example: "store release ledger-co_4KJ7M2QX",
  changes: true,
  isPatient: true,
  input: z.object({
    stream: z.string().meta({ description: "the stream", argument: "STREAM", form: "text" }),
  }),
  run: async ({ ports, progress }, { stream }) => {
    const held = await ports.corrupt.find(stream)
    if (held === null) {
      const message = `${stream} is not held back; "projections status" lists the streams that are.`
      throw new OperatorRefused("not_found", message)
    }
    const revision = await wholeTo(ports, stream)
    if (held.revision !== null && revision < held.revision - 1) {
      throw stillCorrupt(
        `it ends at revision ${revision}, and was proven up to ${held.revision - 1}`,
      )
    }
    const rebuilt = ports.projector.readersOf(stream)
    const finish = async (): Promise<void> => {
      for (const name of rebuilt) {
        progress(`rebuilding ${name}`)
        await ports.projector.rebuild(name, () => undefined)
      }
      if (held.revision === null) return
      for await (const page of ports.store.read(stream, { from: held.revision })) {
        await ports.projector.followUp(page)
      }
    }
    await ports.corrupt.release(stream, finish).catch((error: unknown) => {
      throw error instanceof NotShownElsewhere ? silentElsewhere(error) : error
    })
    await showWrites(ports)
    return { stream, released: true, revision, rebuilt }
  },
})

/** The newest revision of a stream that is whole. @throws OperatorRefused where it is not */
async function wholeTo(
  { store, streams }: Pick<AdminPorts, "store" | "streams">,
  stream: string,
): Promise<number> {
  const leaving = new LeavingOut()
  let revision = NO_STREAM
  for await (const page of provenAmong(store.read(stream), leaving, { streams })) {
    revision = page.at(-1)?.revision ?? revision
  }
  const [fault] = leaving.all
  if (fault !== undefined) throw stillCorrupt(corruptText(fault))
  return revision
}

function silentElsewhere({ message }: NotShownElsewhere): OperatorRefused {
  const why = `Nothing was released: the process ${message} does not answer.`
  return new OperatorRefused("conflict", `${why} Wait until it does or has ended, and try again.`)
}

function stillCorrupt(why: string): OperatorRefused {
  const fix = "Repair the event store or restore a backup first; docs/eventstoredb.md says how."
  return new OperatorRefused("conflict", `Nothing was released: ${why}. ${fix}`)
}

/** Operations on corrupt streams. */
export const releaseOperations: readonly AdminOperation[] = [release]
