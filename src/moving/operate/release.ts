/** Taking a stream off the list of corrupt streams, once it is whole. */
import { z } from "zod"
import type { StoredEvent } from "../../../adapters/eventstore/port.ts"
import { NO_STREAM } from "../../../adapters/eventstore/port.ts"
import { corruptText } from "../../frame/writer/corrupt-list.ts"
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
  ],
  example: "store release ledger-co_4KJ7M2QX",
  changes: true,
  isPatient: true,
  input: z.object({
    stream: z.string().meta({ description: "the stream", argument: "STREAM", form: "text" }),
  }),
  run: async ({ ports, progress }, { stream }) => {
    const held = ports.corrupt.of(stream)
    if (held === null) {
      const message = `${stream} is not held back; "projections status" lists the streams that are.`
      throw new OperatorRefused("not_found", message)
    }
    const events = await wholeStream(ports, stream)
    const revision = events.at(-1)?.revision ?? NO_STREAM
    if (held.revision !== null && revision < held.revision - 1) {
      throw stillCorrupt(
        `it ends at revision ${revision}, and was proven up to ${held.revision - 1}`,
      )
    }
    await ports.corrupt.release(stream)
    const rebuilt = ports.projector.readersOf(stream)
    for (const name of rebuilt) {
      progress(`rebuilding ${name}`)
      await ports.projector.rebuild(name, () => undefined)
    }
    const behind = events.filter((one) => held.revision !== null && one.revision >= held.revision)
    await ports.projector.followUp(behind)
    await showWrites(ports)
    return { stream, released: true, revision, rebuilt }
  },
})

/** The events of a stream that is whole. @throws OperatorRefused where it is not */
async function wholeStream(
  { store, streams }: AdminPorts,
  stream: string,
): Promise<readonly StoredEvent[]> {
  const leaving = new LeavingOut()
  const events: StoredEvent[] = []
  for await (const page of provenAmong(store.read(stream), leaving, { streams })) {
    events.push(...page)
  }
  const [fault] = leaving.all
  if (fault !== undefined) throw stillCorrupt(corruptText(fault))
  return events
}

function stillCorrupt(why: string): OperatorRefused {
  const fix = "Repair the event store or restore a backup first; docs/eventstoredb.md says how."
  return new OperatorRefused("conflict", `Nothing was released: ${why}. ${fix}`)
}

/** Operations on corrupt streams. */
export const releaseOperations: readonly AdminOperation[] = [release]
