/**
 * Giving a parked row up by an operator's word. What it stood for ends as if it had failed for good:
 * nothing stays open behind it. What is owed to a company or to its bill cannot be given up.
 */
import type { ParkedWork } from "../../../adapters/work/port.ts"
import type { ChargeWork, PurchaseWork, TextWork, WorkKind } from "../../../projections/work.ts"
import type { Cause } from "../kernel/envelope.ts"
import type { Ports } from "../ports.ts"
import { settlePurchase } from "../../credits/reactions/settle-purchase.ts"
import { recordText, settleText } from "../../phone/reactions/settle-text.ts"

/** What the carrier would have said, of a text that an operator gave up. */
const GIVEN_UP = "given_up"

/** Ends what a parked row stands for; else says why it cannot be given up, and what to do instead. */
export async function giveUp(
  ports: Ports,
  work: ParkedWork,
  cause: Cause,
): Promise<{ readonly refusal: string } | null> {
  switch (work.kind as WorkKind) {
    case "send-text":
    case "ask-text":
      await failText(ports, work, cause)
      return null
    case "send-reminder":
      return null
    case "pay-purchase":
      await failPurchase(ports, work, cause)
      return null
    case "end-charge": {
      const { chargeId } = work.payload as ChargeWork
      return { refusal: `Its charge is open: end it with "charge give-back ${chargeId}".` }
    }
    case "open-company":
    case "close-month":
    case "charge-calls":
    case "collect-credit":
    case "switch-keys":
    case "erase-company":
      return { refusal: `What ${work.kind} does is owed: mend its cause, then "work retry".` }
    default:
      // Written by another version of this program, which may know how to do it.
      return { refusal: `This version of the program knows no work of the kind ${work.kind}.` }
  }
}

/** No funds come of the purchase, and its allowance is given back. One that has ended stays as it is. */
async function failPurchase(ports: Ports, work: ParkedWork, cause: Cause): Promise<void> {
  const { purchaseId: name } = work.payload as PurchaseWork
  const purchase = { companyId: work.companyId ?? "", name }
  await settlePurchase(ports, purchase, { answer: "payment_failed" }, cause)
}

/** The text counts as failed, and its charge is given back. One whose outcome is known stays as it is. */
async function failText(ports: Ports, work: ParkedWork, cause: Cause): Promise<void> {
  const { stream, messageId } = work.payload as TextWork
  const place = { companyId: work.companyId ?? "", stream, messageId }
  const command = { type: "RejectText" as const, messageId, errorCode: GIVEN_UP }
  const known = await recordText(ports, place, command, cause)
  if (known !== null) await settleText(ports, place, known, cause)
}
