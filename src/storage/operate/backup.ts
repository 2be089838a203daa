/** Writing a backup of the whole installation, beside whatever goes on in it. */
import { z } from "zod"
import type { WrittenBackup } from "../write-backup.ts"
import { writeBackup } from "../write-backup.ts"
import type { Verdict } from "../../audit/operate/audit.ts"
import { verifyAll } from "../../audit/operate/audit.ts"
import type { AdminOperation } from "../../frame/operator/operation.ts"
import { operation } from "../../frame/operator/operation.ts"
import { renderFields } from "../../frame/operator/cli/render.ts"
import { provenStore } from "../../frame/writer/proven-store.ts"
import type { LeftOut, MovedEvent } from "../left-out.ts"
import { LeavingOut, renderLeftOut } from "../left-out.ts"
import { LEFT_OUT_NOTE, renderAudit } from "./move-commands.ts"

/** What was written, and the file that has it. */
interface Backup extends WrittenBackup {
  readonly file?: string
  /** The corrupt streams, and how many events of each are not in the file. */
  readonly leftOut: readonly LeftOut[]
  readonly audit: Verdict
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
  isPatient: true,
  isVerdict: true,
  input: z.object({}),
  run: async (context) => {
    const { ports, send, progress, signal } = context
    await ports.settle()
    const { backupSet: tables, outsideInBackups, corrupt } = ports
    const leaving = new LeavingOut()
    const onHeld = (events: readonly MovedEvent[]) => leaving.count(events)
    const store = provenStore(ports.store, { ...ports, onHeld })
    let takeOut = async (): Promise<void> => undefined
    const putIn = async () => {
      takeOut = await outsideInBackups.putIn(progress, signal)
    }
    const sources = { tables, store, putIn, send, progress, signal }
    const written = await writeBackup(sources).finally(() => takeOut())
    const audit = await verifyAll(context, null)
    const leftOut = leaving.among(corrupt.all())
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
