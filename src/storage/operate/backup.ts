/** Operations that write a backup, and release a corrupt stream. */
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

interface Backup extends WrittenBackup {
  readonly file?: string
  /** Corrupt streams, each with the number of its events that are not in the file. */
  readonly leftOut: readonly LeftOutStream[]
  readonly audit: AuditReport
}

const backup = operation({
  name: "backup",
  summary: "write a backup of the installation to one file, even while the server runs",
  notes: [
    "The file has secrets: the keys of personal data, unless LEDGER_MASTER_KEY keeps the master key outside. " +
      "Only its owner can read it (mode 0600); keep it that way.",
    "The file is written completely or not at all, and replaces a file of the same name. Each line has a checksum of " +
      "all lines before. It has all events up to one position, and the tables that match them.",
    "Read models and caches are not in it: a restore rebuilds them. The backup ends with an audit; the exit code " +
      "is 1 if the audit fails, and the file is written anyway.",
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
    const omitted = new LeftOutStreams()
    const onHeldBack = (events: readonly PortableEvent[]) => omitted.addOmitted(events)
    const store = provenStore(ports.store, { ...ports, onHeldBack })
    let removeBundles = async (): Promise<void> => undefined
    const addBundles = async () => {
      removeBundles = await externalBackup.stage(progress, signal)
    }
    const sources = { tables, store, addBundles, send, progress, signal }
    const written = await writeBackup(sources).finally(() => removeBundles())
    const audit = await runAudit(context, null)
    const leftOut = omitted.omittedFrom(corruptList.all())
    return { ok: audit.ok && leftOut.length === 0, ...written, leftOut, audit }
  },
  render: ({ audit, leftOut, ...written }: Backup, page) => {
    const { file, events, rows, bytes, checksum } = written
    const fields = renderFields(Object.entries({ file, events, rows, bytes }))
    const sum = `Checksum of the file (the start of its last line): ${checksum}\n`
    return fields + sum + renderLeftOut(leftOut, page) + renderAudit(audit, page)
  },
})

export const backupOperations: readonly AdminOperation[] = [backup]

const release = operation({
  name: "store release",
  summary: "release a corrupt stream after its repair, for example by a restore",
  notes: [
    "Every event of the stream is checked first; a stream that is still corrupt is not released.",
    "After a restore or a copy the stream ends with its last proven event; later events are lost.",
    "The read models that show the stream are rebuilt, and the jobs that were held back are enqueued.",
    "The stream accepts commands once all of this is done. Repeat an interrupted release.",
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
      const message = `${stream} is not held back. "projections status" lists the streams that are.`
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

/** The newest proven revision of a stream. @throws OperatorRefused if the stream is corrupt */
async function lastProvenRevision(
  { store, streams }: Pick<AdminPorts, "store" | "streams">,
  stream: string,
): Promise<number> {
  const omitted = new LeftOutStreams()
  let revision = NO_STREAM
  for await (const page of provenEvents(store.read(stream), omitted, { streams })) {
    revision = page.at(-1)?.revision ?? revision
  }
  const [fault] = omitted.all
  if (fault !== undefined) throw stillCorrupt(corruptStreamText(fault))
  return revision
}

function unresponsiveProcess({ message }: ReleaseUnconfirmed): OperatorRefused {
  const reason = `Nothing was released: process ${message} does not answer.`
  return new OperatorRefused(
    "conflict",
    `${reason} Wait until it answers or has ended, and try again.`,
  )
}

function stillCorrupt(why: string): OperatorRefused {
  const fix = "Repair the event store or restore a backup first; see docs/eventstoredb.md."
  return new OperatorRefused("conflict", `Nothing was released: ${why}. ${fix}`)
}

export const streamReleaseOperations: readonly AdminOperation[] = [release]
