import type { BounceReport } from "../../adapters/providers/mailer/port.ts"
import { companyOfMail } from "../../projections/email/mails.ts"
import type { Daemon } from "../frame/daemon.ts"
import { causedBy } from "../frame/kernel/envelope.ts"
import type { Ports } from "../frame/ports.ts"
import { copyFromReturnPath } from "./mail-copy-tokens.ts"
import { executeMailCommand } from "./paid-mail.ts"

const READ_MODELS_WAIT_MS = 5_000

/** Listens for bounces. Each is stored before the sending server gets its acknowledgement. */
export const bounceDaemon: Daemon = {
  displayName: "the bounce listener",
  start: async (ports) => {
    const { bounces, sealing, log } = ports
    const isOurs = (to: string) => copyFromReturnPath(sealing, to) !== null
    const listening = await bounces.listen(isOurs, (report) => receiveBounce(ports, report))
    if (listening === null) return { stop: async () => undefined }
    log.info("listening for bounces", { port: listening.port })
    return { stop: listening.stop }
  },
}

/**
 * Records a returned mail, once. @throws Error if it cannot be recorded yet: the server must deliver it again
 */
async function receiveBounce(
  ports: Pick<Ports, "projector" | "readAll" | "runner" | "sealing" | "store">,
  { to, status: code }: BounceReport,
): Promise<void> {
  const copy = copyFromReturnPath(ports.sealing, to)
  if (copy === null) return
  const { mailId, recipientIndex } = copy
  // The mail may return before the read model knows that it went out.
  const head = await ports.store.head()
  const isCaughtUp = await ports.projector.waitUntilWritten(head, READ_MODELS_WAIT_MS, ["mails"])
  if (!isCaughtUp) throw new Error("the read model of mails is behind")
  const companyId = await companyOfMail(ports.readAll, mailId)
  if (companyId === null) return
  const command = { type: "BounceMail" as const, mailId, recipientIndex, code }
  const view = await executeMailCommand(
    ports,
    companyId,
    command,
    causedBy(`bounce ${mailId}:${recipientIndex}`),
  )
  const status = view?.copies.find((one) => one.recipientIndex === recipientIndex)?.status
  // It returned before the dispatch of the copy was recorded.
  if (status === "open" || status === "deferred")
    throw new Error("the dispatch of this mail is not recorded yet")
}
