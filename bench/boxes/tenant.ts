/** A company with boxes, for benchmarks. */
import type { BoxHandle } from "../../adapters/sandbox/boxhost/port.ts"
import type { CompanyId, PersonId } from "../../domain/kernel/ids.ts"
import { assertMeasurement } from "../benchmark.ts"
import { openCodeCompany } from "../code/code-company.ts"
import type { BenchInstallation } from "../fixtures/bench-installation.ts"

export interface Tenant {
  readonly companyId: CompanyId
  readonly personId: PersonId
  /** The URL of its repository, for git. */
  readonly repositoryUrl: string
  /** Calls the API with its key and returns the body. @throws InvalidMeasurement if it is refused */
  // Each benchmark knows the type of the answer.
  // eslint-disable-next-line @typescript-eslint/no-explicit-any
  readonly call: (method: string, path: string, body?: object) => Promise<any>
  /** Starts a box by the API. */
  readonly startBox: () => Promise<{ readonly box: BoxHandle }>
}

/** Opens a company at a server with this port. */
export async function openTenant(house: BenchInstallation, port: number): Promise<Tenant> {
  const place = { name: "boxes", plan: "329" }
  const { companyId, ownerId, key, repositoryUrl } = await openCodeCompany(house, port, place)
  const call: Tenant["call"] = async (method, path, body) => {
    const answer = await fetch(`http://127.0.0.1:${port}/api/v1${path}`, {
      method,
      headers: { authorization: `Bearer ${key}`, "content-type": "application/json" },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    })
    const text = await answer.text()
    assertMeasurement(answer.ok, `${method} ${path} answered ${answer.status}: ${text}`)
    return JSON.parse(text)
  }
  return {
    companyId,
    personId: ownerId,
    repositoryUrl,
    call,
    startBox: async () => {
      const { id } = await call("POST", "/sandboxes", { size: "small", idleMinutes: 60 })
      await house.waitUntilIdle()
      const box = await house.ports.boxHost.find(id)
      assertMeasurement(box !== null, `${id} does not run`)
      return { box }
    },
  }
}
