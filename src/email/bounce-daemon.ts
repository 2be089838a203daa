/** Takes mails that come back, each kept before whoever brought it hears that it was taken. */
import type { BounceReport } from "../../adapters/providers/mailer/port.ts"
import { companyOfMail } from "../../projections/email/mails.ts"
import type { Daemon } from "../frame/daemon.ts"
import { causedBy } from "../frame/kernel/envelope.ts"
import type { Ports } from "../frame/ports.ts"
import { copyFromReturnPath } from "./mail-copy-tokens.ts"
import { executeMailCommand } from "./paid-mail.ts"

const READ_MODELS_WAIT_MS = 5_000

/** Listens for them. */
export const bounceDaemon: Daemon = {
  displayName: "the listener for mails that come back",
  start: async (ports) => {
    const { bounces, sealing, log } = ports
    const isOurs = (to: string) => copyFromReturnPath(sealing, to) !== null
    const listening = await bounces.listen(isOurs, (report) => receiveBounce(ports, report))
    if (listening === null) return { stop: async () => undefined }
    log.info("listening for mails that come back", { port: listening.port })
    return { stop: listening.stop }
  },
}

/**
 * Records that a mail came back. One that is known to have, or never got anywhere: nothing new.
 *
 * @throws Error where that cannot be told yet: whoever brings it must come again
 */
async function receiveBounce(
  ports: Pick<Ports, "projector" | "readAll" | "runner" | "sealing" | "store">,
  { to, status: code }: BounceReport,
): Promise<void> {
  const copy = copyFromReturnPath(ports.sealing, to)
  if (copy === null) return
  const { mailId, recipientIndex } = copy
  // It may come back before the read models know that it went.
  const head = await ports.store.head()
  const isKnown = await ports.projector.waitUntilWritten(head, READ_MODELS_WAIT_MS, ["mails"])
  if (!isKnown) throw new Error("the read model of mails is behind")
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
  // Somebody had it before who handed it over could write that down.
  if (status === "open" || status === "deferred") throw new Error("it is still being handed over")
}
