import { useQuery } from "@tanstack/react-query"
import type { Box, BoxList } from "./code-answers.ts"
import { responseData, useApi } from "./api-client.ts"
import { useOperationQuery, useCanRun } from "./operations.ts"
import { useMe } from "./session.ts"

const MAX_BOXES = 200
const POLL_INTERVAL_MS = 5_000

/** All boxes of the company with their people; for others, their own boxes. */
export function useBoxes() {
  const { companyId } = useMe()
  const api = useApi()
  const seesAll = useCanRun("box-list")
  const all = useOperationQuery<BoxList>("box-list", { limit: MAX_BOXES }, seesAll)
  const own = useQuery<BoxList>({
    queryKey: [companyId, "boxes"],
    queryFn: () => responseData(api.GET("/api/v1/sandboxes")),
    enabled: !seesAll,
  })
  return { seesAll, found: seesAll ? all : own }
}

/** A box; a starting one is polled until it runs. */
export function useBox(boxId: string) {
  const { companyId } = useMe()
  const api = useApi()
  return useQuery({
    queryKey: [companyId, "boxes", boxId],
    queryFn: () =>
      responseData(api.GET("/api/v1/sandboxes/{id}", { params: { path: { id: boxId } } })),
    refetchInterval: ({ state }) => (state.data?.status === "starting" ? POLL_INTERVAL_MS : false),
  })
}

/** Why a box stopped, in words; null if it did not. */
export function stopReasonLabel(reason: Box["stopReason"]): string | null {
  return reason === null ? null : STOP_REASON_LABELS[reason]
}

const STOP_REASON_LABELS: Readonly<Record<NonNullable<Box["stopReason"]>, string>> = {
  idle: "Idle for too long",
  time_cap: "Time limit reached",
  budget: "Budget used up",
  spending_limit: "A spending limit was reached",
  funds: "No funds left",
  key_changed: "Its key lost the permission",
  stopped: "Stopped by a person",
}
