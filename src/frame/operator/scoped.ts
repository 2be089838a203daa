/** The ports of an operation that one company's person does: whatever is another company's is not there. */
import type { CompanyId } from "../../../domain/kernel/ids.ts"
import { companyOf } from "../../../domain/kernel/streams.ts"
import type { AdminPorts } from "./operation.ts"
import { OperatorRefused } from "./operation.ts"

/** The same ports, as far as they are of a company; what is asked of another's stream @throws OperatorRefused. */
export function scopedTo(ports: AdminPorts, companyId: CompanyId): AdminPorts {
  const { runner, store } = ports
  const own = <S extends { readonly stream: string }>(at: S): S => {
    const other = companyOf(at.stream)
    if (other === null || other === companyId) return at
    throw new OperatorRefused("not_found", "There is no such thing in this company.")
  }
  return {
    ...ports,
    // By row-level security.
    readAll: ports.readerOf(companyId),
    runner: {
      ...runner,
      execute: async (at, command, cause, view, deadlineMs) =>
        runner.execute(own(at), command, cause, view, deadlineMs),
      read: async (at, view, deadlineMs) => runner.read(own(at), view, deadlineMs),
      readLatest: async (at, view, deadlineMs) => runner.readLatest(own(at), view, deadlineMs),
    },
    store: {
      ...store,
      // Streams of the whole installation are the operator's.
      read: (stream, range) =>
        companyOf(stream) === companyId ? store.read(stream, range) : nothing(),
    },
  }
}

async function* nothing(): AsyncGenerator<never> {
  // There is nothing of it.
}
