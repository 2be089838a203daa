/** The audit that every move of an installation ends in. */
import type { Verdict } from "../../audit/operate/audit.ts"
import { verifyAll } from "../../audit/operate/audit.ts"
import { newId } from "../../frame/kernel/ids.ts"
import type { AdminContext, AdminPorts } from "../../frame/operator/operation.ts"
import { OperatorRefused } from "../../frame/operator/operation.ts"
import { performed } from "../../frame/operator/run-operation.ts"
import type { Log } from "../../frame/kernel/log.ts"
import type { Config } from "../settings/config.ts"
import { openInstallation } from "../open/installation.ts"
import { explainOpening } from "../open/opening-faults.ts"

/** How long the read models may take from one line of progress to the next, milliseconds. */
const TELL_EVERY_MS = 2_000

/** What a move tells its operator while it works. */
export interface MoveTalk {
  readonly progress: (message: string) => void
  readonly signal: AbortSignal
}

/**
 * Opens the installation as a server does, waits until its read models show everything, and verifies
 * all of it.
 *
 * @throws StartupFault where it cannot be opened; OperatorRefused where the audit is refused
 * @throws the signal's reason
 */
export async function auditMoved(
  config: Config,
  databaseUrl: string,
  log: Log,
  { progress, signal }: MoveTalk,
): Promise<Verdict> {
  const baseUrl = () => config.baseUrl ?? ""
  const options = { ...config, databaseUrl, baseUrl, log, signal }
  const { ports, close } = await openInstallation(options).catch((error: unknown) => {
    throw explainOpening(error, config)
  })
  try {
    await ports.outsideInBackups.putBack(progress)
    await shown(ports, { progress, signal })
    const cause = {
      command: newId("cmd"),
      actor: "system",
      keyId: null,
      personId: null,
      reason: null,
    }
    const audit = {
      isPatient: true,
      run: (context: AdminContext) => verifyAll(context, null, null),
    } as const
    const talk = { progress, signal, send: async () => undefined }
    const done = await performed(audit, { ports, cause }, {}, talk)
    if ("result" in done) return done.result as Verdict
    throw new OperatorRefused(done.refusal.error, done.refusal.message)
  } finally {
    await close()
  }
}

/** Waits for the read models, which are made anew; one that stopped is the audit's to tell. */
async function shown(
  ports: Pick<AdminPorts, "projector" | "store">,
  { progress, signal }: MoveTalk,
): Promise<void> {
  for (;;) {
    signal.throwIfAborted()
    if (await ports.projector.waitFor(await ports.store.head(), TELL_EVERY_MS)) return
    const standing = await ports.projector.status()
    if (standing.some(({ fault }) => fault !== null)) return
    const behind = standing.reduce((most, one) => Math.max(most, one.behind ?? 0), 0)
    progress(`read models are made anew, ${behind} facts in hand`)
  }
}
