/** Whether the caller of a refused request can pay for it by itself. */
import { ledgerOf } from "../../../../domain/charging/aggregates.ts"
import { allowanceOf } from "../../../../domain/charging/ledger-views.ts"
import type { Ports } from "../../ports.ts"
import type { Payer } from "./charge-refusals.ts"
import type { Caller } from "../declare/route.ts"

/** What a 402 tells this caller about paying. @throws as `Runner.read` does */
export async function payerOf(ports: Ports, { companyId, key }: Caller): Promise<Payer> {
  if (key === null) return { mayBuy: false, baseUrl: ports.baseUrl() }
  const mayBuy = await ports.runner.read(ledgerOf(companyId), (state, at) => {
    return allowanceOf(state, key.keyId, at)?.mode === "on"
  })
  return { mayBuy, baseUrl: ports.baseUrl() }
}
