/** Why a move came to no end, in words that an operator can act on. */
import {
  AccessDenied,
  DamagedStream,
  Unavailable,
  UnknownOutcome,
} from "../../../adapters/eventstore/port.ts"
import { OperatorRefused } from "../../frame/operator/operation.ts"
import { BackupFault } from "../../storage/backup-file.ts"
import { NotTheSame } from "../../storage/compare.ts"

/** A fault that an operator can act on as an OperatorRefused, any other as it is. */
export function moveFault(error: unknown): unknown {
  if (!(error instanceof Error)) return error
  const { message } = error
  if (error instanceof NotTheSame) {
    return new OperatorRefused(
      "not_a_copy",
      `The store holds something else than what is moved there (${message}): name an empty one, or ` +
        "the one in which the same move was begun before.",
    )
  }
  if (error instanceof BackupFault) {
    return new OperatorRefused("bad_backup", `The file was changed meanwhile: ${message}.`)
  }
  if (error instanceof DamagedStream) {
    const hint = "the events were changed behind the ledger's back; audit verify says more."
    return new OperatorRefused("broken_chain", `Nothing is moved: ${message}; ${hint}`)
  }
  if (error instanceof Unavailable || error instanceof UnknownOutcome) {
    return new OperatorRefused(
      "unavailable",
      `A store was lost (${message}): give the same command again, and it goes on where it stopped.`,
    )
  }
  if (error instanceof AccessDenied) {
    const who = "it needs a user who may read $all and write all streams."
    return new OperatorRefused("access_denied", `The other store refuses its user: ${who}`)
  }
  return error
}
