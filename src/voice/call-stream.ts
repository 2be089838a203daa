/** A call as its stream has it, and telling it something. */
import { callStreamOf } from "../../domain/voice/aggregates.ts"
import type { CallCommand } from "../../domain/voice/call-commands.ts"
import type { CallEvent } from "../../domain/voice/call-events.ts"
import type { OfferedCall } from "../../domain/voice/call-state.ts"
import { offeredCallOf } from "../../domain/voice/call-state.ts"
import type { CallId } from "../../domain/voice/ids.ts"
import type { CompanyId } from "../../domain/kernel/ids.ts"
import type { Cause } from "../frame/kernel/envelope.ts"
import type { Ports } from "../frame/ports.ts"

/** Where a call is found. */
export interface CallReference {
  readonly companyId: CompanyId
  readonly callId: CallId
}

/** A call, as new as any process has it; null where there is none. */
export function readCall(
  { runner }: Pick<Ports, "runner">,
  { companyId, callId }: CallReference,
): Promise<OfferedCall | null> {
  return runner.readLatest(callStreamOf(companyId, callId), offeredCallOf)
}

/** Tells a call something; how it stands after that, and what it recorded. Null where there is no call. */
export async function executeCallCommand(
  { runner }: Pick<Ports, "runner">,
  { companyId, callId }: CallReference,
  command: CallCommand,
  cause: Cause,
): Promise<{ readonly call: OfferedCall | null; readonly facts: readonly CallEvent[] }> {
  const told = await runner.execute(callStreamOf(companyId, callId), command, cause, offeredCallOf)
  return { call: told.view, facts: told.accepted ? told.facts : [] }
}
