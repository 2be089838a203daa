/** The carrier's later word on a text it took: only the status changes, unless it overtook the yes. */
import type { CompanyId, MessageId } from "../../domain/kernel/ids.ts"
import { recipientStream } from "../../domain/phone/recipient.ts"
import type { Cause } from "../envelope.ts"
import type { Ports } from "../ports.ts"
import { recordText, settleText } from "./settle-text.ts"

/** Records that a text was delivered (`errorCode` null) or was not, and ends its charge. */
export async function reportDelivery(
  ports: Ports,
  text: { readonly companyId: CompanyId; readonly to: string; readonly messageId: MessageId },
  errorCode: string | null,
  cause: Cause,
): Promise<void> {
  const { companyId, messageId } = text
  const stream = recipientStream(companyId, await ports.sealing.tag(companyId, text.to))
  const place = { companyId, stream, messageId }
  const delivered = errorCode === null
  const command = { type: "ReportDelivery" as const, messageId, delivered, errorCode }
  const known = await recordText(ports, place, command, cause)
  if (known !== null) await settleText(ports, place, known, cause)
}
