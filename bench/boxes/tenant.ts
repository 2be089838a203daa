/** A company whose people have boxes, for benchmarks. */
import type { Box } from "../../adapters/sandbox/boxhost/port.ts"
import type { CompanyId, PersonId } from "../../domain/kernel/ids.ts"
import { honest } from "../benchmark.ts"
import { openPlace } from "../code/place.ts"
import type { House } from "../ground/house.ts"

/** One. */
export interface Tenant {
  readonly companyId: CompanyId
  readonly personId: PersonId
  /** Of its repository, as git is told of it. */
  readonly address: string
  /** Calls the API with its key; answers the body. @throws Dishonest where it is refused */
  // Each benchmark knows what it asked for.
  // eslint-disable-next-line @typescript-eslint/no-explicit-any
  readonly call: (method: string, path: string, body?: object) => Promise<any>
  /** Starts a box by the API. */
  readonly box: () => Promise<{ readonly box: Box }>
}

/** Opens one at a server of this port. */
export async function openTenant(house: House, port: number): Promise<Tenant> {
  const place = { name: "boxes", plan: "329" }
  const { companyId, ownerId, key, address } = await openPlace(house, port, place)
  const call: Tenant["call"] = async (method, path, body) => {
    const answer = await fetch(`http://127.0.0.1:${port}/api/v1${path}`, {
      method,
      headers: { authorization: `Bearer ${key}`, "content-type": "application/json" },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    })
    const told = await answer.text()
    honest(answer.ok, `${method} ${path} answered ${answer.status}: ${told}`)
    return JSON.parse(told)
  }
  return {
    companyId,
    personId: ownerId,
    address,
    call,
    box: async () => {
      const { id } = await call("POST", "/sandboxes", { size: "small", idleMinutes: 60 })
      await house.settle()
      const box = await house.ports.boxHost.find(id)
      honest(box !== null, `${id} does not run`)
      return { box }
    },
  }
}
