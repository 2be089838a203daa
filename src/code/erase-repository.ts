/** A company's repository goes with the company. */
import { codeOf } from "../../domain/code/aggregates.ts"
import { hasRepository } from "../../domain/code/code-views.ts"
import type { CompanyId } from "../../domain/kernel/ids.ts"
import { causedBy } from "../frame/kernel/envelope.ts"
import type { Ports } from "../frame/ports.ts"

/** Takes a company's repository away, and says so; again after a crash. @throws GitUnavailable */
export async function eraseRepository(
  ports: Pick<Ports, "repositories" | "runner">,
  companyId: CompanyId,
): Promise<void> {
  const { runner, repositories } = ports
  const stream = codeOf(companyId)
  if (!(await runner.readLatest(stream, hasRepository))) return
  // First the folder: a fact that says so before would be wrong after a crash.
  await repositories.erase(companyId)
  const cause = causedBy(`erase-company ${companyId}`)
  const said = await runner.execute(stream, { type: "EraseRepository" }, cause)
  if (!said.accepted) throw new Error(`${companyId} cannot be erased: ${said.refusal.message}`)
}
