import { recipientStreamOf } from "../../../domain/phone/aggregates.ts"
import type { CompanyId } from "../../../domain/kernel/ids.ts"
import type { MessageId } from "../../../domain/phone/ids.ts"
import type { Cause } from "../../frame/kernel/envelope.ts"
import type { Ports } from "../../frame/ports.ts"
import { paidText, textReference } from "../send-text.ts"

/** The carrier's final status of a text that it accepted. */
export interface DeliveryReport {
  readonly carrierId: string
  /** Null if it was delivered. */
  readonly errorCode: string | null
}

/** Records whether a text was delivered, and settles its charge. */
export async function reportDelivery(
  ports: Ports,
  of: { readonly companyId: CompanyId; readonly to: string; readonly messageId: MessageId },
  { carrierId, errorCode }: DeliveryReport,
  cause: Cause,
): Promise<void> {
  const { companyId, messageId } = of
  const at = textReference(
    recipientStreamOf(companyId, await ports.sealing.tag(companyId, of.to)),
    messageId,
  )
  const delivered = errorCode === null
  const type = "ReportDelivery" as const
  const command = { type, messageId, carrierId, delivered, errorCode }
  await paidText.conclude(ports, companyId, at, command, cause)
}
