/** A company with a repository, for benchmarks. */
import type { CompanyId, PersonId } from "../../domain/kernel/ids.ts"
import type { BenchInstallation } from "../fixtures/bench-installation.ts"

/** The company; `repositoryUrl` is for git. */
export interface CodeCompany {
  readonly companyId: CompanyId
  readonly ownerId: PersonId
  /** The owner's key, with all operations. */
  readonly key: string
  readonly repositoryUrl: string
}

/** Opens a company with a verified card, funds and an empty repository, at a server with this port. */
export async function openCodeCompany(
  { operate }: BenchInstallation,
  port: number,
  { name, ...more }: { readonly name: string; readonly plan?: string },
): Promise<CodeCompany> {
  const asked = { name, ...more, funds: "50", ownerEmail: "owner@example.com" }
  const { companyId, ownerId } = await operate("company create", asked)
  await operate("card set", { company: companyId, verified: true })
  const { key } = await operate("key create", {
    company: companyId,
    person: ownerId,
    allOperations: true,
  })
  await operate("repository create", { company: companyId })
  const named = encodeURIComponent(name)
  const repositoryUrl = `http://${named}:${key}@127.0.0.1:${port}/git/${named}.git`
  return { companyId, ownerId, key, repositoryUrl }
}
