/** Operations on the carrier simulator, and the sweep of the configured carrier. */
import { recipientStreamOf } from "../../../domain/phone/aggregates.ts"
import { z } from "zod"
import { simulatedCarrierId } from "../../../adapters/providers/carrier/port.ts"
import { isProviderError } from "../../../adapters/providers/provider-errors.ts"
import type { CompanyId } from "../../../domain/kernel/ids.ts"
import type { MessageId } from "../../../domain/phone/ids.ts"
import { parseMessageId } from "../../../domain/phone/ids.ts"
import { findText } from "../../../domain/phone/recipient.ts"
import { findMessage } from "../../../projections/phone/messages.ts"
import { findHolderOfNumber } from "../../../projections/phone/numbers.ts"
import { newId } from "../../frame/kernel/ids.ts"
import { receiveText } from "../receive-text.ts"
import { STARTUP_SWEEP_MS, sweepCarrier } from "../sweep-carrier.ts"
import { reportDelivery } from "../reactions/report-delivery.ts"
import {
  companyInput,
  findCompany,
  requirePhoneNumber,
  waitForOwnWrites,
  withCrossFieldCheck,
} from "../../frame/operator/inputs.ts"
import type { AdminOperation, AdminPorts } from "../../frame/operator/operation.ts"
import { OperatorRefused, operation } from "../../frame/operator/operation.ts"

const textIn = operation({
  name: "carrier text-in",
  summary: "simulate an incoming text",
  notes: ["Give phone numbers in E.164, for example +15555550123."],
  example: "carrier text-in --company acme --from +15555550123 --to +15555550100 --body STOP",
  changes: true,
  input: z.object({
    company: companyInput.optional(),
    from: z.string().meta({ description: "the sender", takes: "number" }),
    to: z.string().meta({ description: "the company's number", takes: "number" }),
    // Real texts are stored unchanged, whatever characters they have.
    body: z
      .string()
      .refine((text) => text.isWellFormed(), "must be well-formed Unicode")
      .meta({ description: "the text", takes: "text" }),
  }),
  run: async ({ ports, cause }, input) => {
    const from = requirePhoneNumber("--from", input.from)
    const to = requirePhoneNumber("--to", input.to)
    await waitForOwnWrites(ports)
    const holder = await findHolderOfNumber(ports.readAll, to)
    if (holder === null) {
      throw new OperatorRefused("not_found", `No company holds the number ${to}.`)
    }
    const companyId = holder.company_id
    if (input.company !== undefined && (await findCompany(ports, input.company)) !== companyId) {
      throw new OperatorRefused("not_found", `${input.company} does not hold the number ${to}.`)
    }
    const messageId = newId("msg")
    const numberId = holder.number_id
    const text = { companyId, messageId, numberId, from, body: input.body, mediaCount: 0 }
    const keyword = await receiveText(ports, { ...text, isAutoAnswered: false }, cause)
    await waitForOwnWrites(ports)
    return { messageId, companyId, keyword }
  },
})

const Delivery = z.object({
  messageId: z.string().meta({ description: "the text, by id", argument: "MESSAGE_ID" }),
  status: z.enum(["delivered", "failed"]).meta({ description: "its new status" }),
  code: z.string().optional().meta({ description: "the carrier's error code", form: "digits" }),
})

const deliver = operation({
  name: "carrier deliver",
  summary: "simulate a delivery report for a text",
  example: "carrier deliver msg_4Zb0x7 --status failed --code 30003",
  changes: true,
  input: withCrossFieldCheck(Delivery, ({ status, code }) =>
    status === "delivered" && code !== undefined
      ? "--code is only valid with --status failed"
      : null,
  ),
  run: async ({ ports, cause }, { messageId: named, status, code }) => {
    await waitForOwnWrites(ports)
    const messageId = parseMessageId(named)
    const message = messageId === null ? null : await findMessage(ports.readAll, messageId)
    if (messageId === null || message === null || message.to_number === null) {
      throw new OperatorRefused("not_found", `No outgoing text has the id ${named}.`)
    }
    const { company_id: companyId, to_number: to } = message
    const errorCode = status === "failed" ? (code ?? "30003") : null
    const report = { carrierId: simulatedCarrierId(messageId), errorCode }
    await reportDelivery(ports, { companyId, to, messageId }, report, cause)
    await waitForOwnWrites(ports)
    return { messageId, status: await statusOf(ports, companyId, to, messageId) }
  },
})

async function statusOf(
  ports: Pick<AdminPorts, "runner" | "sealing">,
  companyId: CompanyId,
  to: string,
  messageId: MessageId,
): Promise<string | null> {
  const stream = recipientStreamOf(companyId, await ports.sealing.tag(companyId, to))
  const text = await ports.runner.readLatest(stream, (state) => findText(state, messageId))
  return text?.status ?? null
}

const sweep = operation({
  name: "carrier sweep",
  summary: "fetch texts of the last three days that the carrier has and this installation lacks",
  notes: ["The server does this at startup and, for the last three hours, every hour."],
  example: "carrier sweep",
  changes: true,
  input: z.object({}),
  run: async ({ ports, cause }) => {
    await waitForOwnWrites(ports)
    try {
      const swept = await sweepCarrier(ports, ports.clock.now() - STARTUP_SWEEP_MS, cause)
      await waitForOwnWrites(ports)
      return { ...swept }
    } catch (error) {
      if (!isProviderError(error)) throw error
      throw new OperatorRefused("unavailable", `${error.message}. Try again later.`)
    }
  },
})

export const carrierOperations: readonly AdminOperation[] = [textIn, deliver, sweep]
