/** Writing a backup of the whole installation, beside whatever goes on in it. */
import { z } from "zod"
import { writeBackup } from "../write-backup.ts"
import { verifyAll } from "../../audit/operate/audit.ts"
import type { AdminOperation } from "../../frame/operator/operation.ts"
import { operation } from "../../frame/operator/operation.ts"

const backup = operation({
  name: "backup",
  isPatient: true,
  input: z.object({}),
  run: async (context) => {
    const { ports, send, progress, signal } = context
    await ports.settle()
    const { keptTables: tables, store } = ports
    const written = await writeBackup({ tables, store, send, progress, signal })
    const audit = await verifyAll(context, null)
    return { ok: audit.ok, ...written, audit }
  },
})

/** Operations on the installation as a whole. */
export const backupOperations: readonly AdminOperation[] = [backup]
