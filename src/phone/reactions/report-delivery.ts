/** The carrier's later word on a text it took: only the status changes, unless it overtook the yes. */
import { recipientOf } from "../../../domain/phone/aggregates.ts"
import type { CompanyId } from "../../../domain/kernel/ids.ts"
import type { MessageId } from "../../../domain/phone/ids.ts"
import type { Cause } from "../../frame/kernel/envelope.ts"
import type { Ports } from "../../frame/ports.ts"
import { recordText, settleText } from "../texts.ts"

/** What a carrier says of a text later on. */
export interface DeliveryReport {
  readonly carrierId: string
  /** Null where it was delivered. */
  readonly errorCode: string | null
}

/** Records that a text was delivered or was not, and ends its charge. */
export async function reportDelivery(
  ports: Ports,
  text: { readonly companyId: CompanyId; readonly to: string; readonly messageId: MessageId },
  { carrierId, errorCode }: DeliveryReport,
  cause: Cause,
): Promise<void> {
  const { companyId, messageId } = text
  const recipient = recipientOf(companyId, await ports.sealing.tag(companyId, text.to))
  const place = { companyId, recipient, messageId }
  const delivered = errorCode === null
  const type = "ReportDelivery" as const
  const command = { type, messageId, carrierId, delivered, errorCode }
  const known = await recordText(ports, place, command, cause)
  if (known !== null) await settleText(ports, place, known, cause)
}
