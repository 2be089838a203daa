/** Having the numbers of a company registered, so that they can text. */
import type { CompanyId } from "../../../../domain/kernel/ids.ts"
import type { Cause } from "../../../frame/kernel/envelope.ts"
import type { Ports } from "../../../frame/ports.ts"

/** Asks how the numbers of a company stand. A placeholder: it knows no number. */
export async function askAboutNumbers(
  _ports: Ports,
  _companyId: CompanyId,
  _cause: Cause,
): Promise<void> {
  return Promise.resolve()
}
