import { callStreamOf } from "../../domain/voice/aggregates.ts"
import type { CallCommand } from "../../domain/voice/call-commands.ts"
import type { CallEvent } from "../../domain/voice/call-events.ts"
import type { OfferedCall } from "../../domain/voice/call-state.ts"
import { offeredCallOf } from "../../domain/voice/call-state.ts"
import type { CallId } from "../../domain/kernel/calls.ts"
import type { CompanyId } from "../../domain/kernel/ids.ts"
import type { Cause } from "../frame/kernel/envelope.ts"
import type { Ports } from "../frame/ports.ts"

/** The ids that locate a call. */
export interface CallReference {
  readonly companyId: CompanyId
  readonly callId: CallId
}

/** Reads the latest state of a call; null if it does not exist. */
export function readCall(
  { runner }: Pick<Ports, "runner">,
  { companyId, callId }: CallReference,
): Promise<OfferedCall | null> {
  return runner.readLatest(callStreamOf(companyId, callId), offeredCallOf)
}

/** Executes a command on a call; returns its state afterwards (null if it does not exist) and the facts. */
export async function executeCallCommand(
  { runner }: Pick<Ports, "runner">,
  { companyId, callId }: CallReference,
  command: CallCommand,
  cause: Cause,
): Promise<{ readonly call: OfferedCall | null; readonly facts: readonly CallEvent[] }> {
  const outcome = await runner.execute(
    callStreamOf(companyId, callId),
    command,
    cause,
    offeredCallOf,
  )
  return { call: outcome.view, facts: outcome.accepted ? outcome.facts : [] }
}
