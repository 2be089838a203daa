/** Writing a backup of the whole installation, beside whatever goes on in it. */
import { z } from "zod"
import type { WrittenBackup, LeftOutStream, PortableEvent } from "../write-backup.ts"
import { writeBackup, LeftOutStreams, renderLeftOut, provenEvents } from "../write-backup.ts"
import type { AuditReport } from "../../audit/operate/audit.ts"
import { runAudit } from "../../audit/operate/audit.ts"
import type { AdminOperation, AdminPorts } from "../../frame/operator/operation.ts"
import { operation, OperatorRefused } from "../../frame/operator/operation.ts"
import { renderFields } from "../../frame/operator/cli/render.ts"
import { provenStore } from "../../frame/writer/proven-store.ts"
import { LEFT_OUT_NOTE, renderAudit } from "./store-commands.ts"
import { NO_STREAM } from "../../../adapters/eventstore/port.ts"
import { ReleaseUnconfirmed, corruptStreamText } from "../../frame/writer/corrupt-list.ts"
import { waitForOwnWrites } from "../../frame/operator/inputs.ts"

/** What was written, and the file that has it. */
interface Backup extends WrittenBackup {
  readonly file?: string
  /** The corrupt streams, and how many events of each are not in the file. */
  readonly leftOut: readonly LeftOutStream[]
  readonly audit: AuditReport
}

const backup = operation({
  name: "backup",
  summary: "write everything that is truth into one file, also beside a running server",
  notes: [
    "The file holds secrets: the keys that open personal data, unless LEDGER_MASTER_KEY keeps the " +
      "master key outside. Only its owner may read it (mode 0600); keep it that way.",
    "It appears whole or not at all; a file of that name is replaced by it then. Every line of it vouches for all before it. It holds all " +
      "events up to one place, and what fits them of everything else.",
    "Read models and caches are left out: a restore makes them anew. In the end the audit is run; " +
      "exit code 1 where something does not hold, and the file is there all the same.",
    LEFT_OUT_NOTE,
  ],
  example: "backup ledger-2026-11-30.backup",
  hasSecretFile: true,
  isLongRunning: true,
  isVerdict: true,
  input: z.object({}),
  run: async (context) => {
    const { ports, send, progress, signal } = context
    await ports.flush()
    const { backupSet: tables, externalBackup, corruptList } = ports
    const leaving = new LeftOutStreams()
    const onHeldBack = (events: readonly PortableEvent[]) => leaving.addOmitted(events)
    const store = provenStore(ports.store, { ...ports, onHeldBack })
    let takeOut = async (): Promise<void> => undefined
    const addBundles = async () => {
      takeOut = await externalBackup.stage(progress, signal)
    }
    const sources = { tables, store, addBundles, send, progress, signal }
    const written = await writeBackup(sources).finally(() => takeOut())
    const audit = await runAudit(context, null)
    const leftOut = leaving.omittedFrom(corruptList.all())
    return { ok: audit.ok && leftOut.length === 0, ...written, leftOut, audit }
  },
  render: ({ audit, leftOut, ...written }: Backup, page) => {
    const { file, events, rows, bytes, checksum } = written
    const fields = renderFields(Object.entries({ file, events, rows, bytes }))
    const sum = `checksum of the whole file, which its last line begins with: ${checksum}\n`
    return fields + sum + renderLeftOut(leftOut, page) + renderAudit(audit, page)
  },
})

/** Operations on the installation as a whole. */
export const backupOperations: readonly AdminOperation[] = [backup]

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
  isLongRunning: true,
  input: z.object({
    stream: z.string().meta({ description: "the stream", argument: "STREAM", form: "text" }),
  }),
  run: async ({ ports, progress }, { stream }) => {
    const held = await ports.corruptList.find(stream)
    if (held === null) {
      const message = `${stream} is not held back; "projections status" lists the streams that are.`
      throw new OperatorRefused("not_found", message)
    }
    const revision = await lastProvenRevision(ports, stream)
    if (held.revision !== null && revision < held.revision - 1) {
      throw stillCorrupt(
        `it ends at revision ${revision}, and was proven up to ${held.revision - 1}`,
      )
    }
    const rebuilt = ports.projector.listReadModelsOf(stream)
    const finish = async (): Promise<void> => {
      for (const name of rebuilt) {
        progress(`rebuilding ${name}`)
        await ports.projector.rebuild(name, () => undefined)
      }
      if (held.revision === null) return
      for await (const page of ports.store.read(stream, { from: held.revision })) {
        await ports.projector.enqueueReactions(page)
      }
    }
    await ports.corruptList.release(stream, finish).catch((error: unknown) => {
      throw error instanceof ReleaseUnconfirmed ? unresponsiveProcess(error) : error
    })
    await waitForOwnWrites(ports)
    return { stream, released: true, revision, rebuilt }
  },
})

/** The newest revision of a stream that is whole. @throws OperatorRefused where it is not */
async function lastProvenRevision(
  { store, streams }: Pick<AdminPorts, "store" | "streams">,
  stream: string,
): Promise<number> {
  const leaving = new LeftOutStreams()
  let revision = NO_STREAM
  for await (const page of provenEvents(store.read(stream), leaving, { streams })) {
    revision = page.at(-1)?.revision ?? revision
  }
  const [fault] = leaving.all
  if (fault !== undefined) throw stillCorrupt(corruptStreamText(fault))
  return revision
}

function unresponsiveProcess({ message }: ReleaseUnconfirmed): OperatorRefused {
  const why = `Nothing was released: the process ${message} does not answer.`
  return new OperatorRefused("conflict", `${why} Wait until it does or has ended, and try again.`)
}

function stillCorrupt(why: string): OperatorRefused {
  const fix = "Repair the event store or restore a backup first; docs/eventstoredb.md says how."
  return new OperatorRefused("conflict", `Nothing was released: ${why}. ${fix}`)
}

/** Operations on corrupt streams. */
export const streamReleaseOperations: readonly AdminOperation[] = [release]
