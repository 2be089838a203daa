/** Who pushes, whatever way they come by: the wire, a box, an operator's import. */
import type { CompanyId } from "../../domain/kernel/ids.ts"
import type { Cause } from "../frame/kernel/envelope.ts"

/** Who pushes. */
export interface Pusher {
  readonly companyId: CompanyId
  /** Of a call: `causeOf(caller)`. */
  readonly cause: Cause
}
