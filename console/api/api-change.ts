import { useRef } from "react"
import { callConsole } from "./console-request.ts"
import { queryClient } from "./query-client.ts"
import { useMe } from "./session.ts"

export interface ApiChange {
  readonly method: "POST" | "PUT" | "PATCH" | "DELETE"
  /** Path with query: `/api/v1/phone/buy`. */
  readonly path: string
  readonly body?: object
}

/** Sends changes to the API as the reader, and refreshes all shown data. */
export function useApiChange(): <T>(change: ApiChange) => Promise<T> {
  const { companyId } = useMe()
  const last = useRef({ sent: "", key: "" })
  return async <T>(change: ApiChange): Promise<T> => {
    const { method, path, body } = change
    const sent = JSON.stringify(change)
    // A retry after a lost connection uses the same key, so that it is charged once.
    if (last.current.sent !== sent) last.current = { sent, key: crypto.randomUUID() }
    const done = await callConsole<T>(method, `/${companyId}${path}`, body, {
      "idempotency-key": last.current.key,
    })
    last.current = { sent: "", key: "" }
    await queryClient.invalidateQueries({ queryKey: [companyId] })
    return done
  }
}
