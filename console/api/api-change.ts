import { useRef } from "react"
import { callConsole } from "./console-request.ts"
import { queryClient } from "./query-client.ts"
import { useMe } from "./session.ts"

/** A change that a route of the API makes. */
export interface ApiChange {
  readonly method: "POST" | "PUT" | "PATCH" | "DELETE"
  /** With its query: `/api/v1/phone/buy`. */
  readonly path: string
  readonly body?: object
}

/** Makes changes by the API, as whoever looks at the page, and has what is shown asked anew. */
export function useApiChange(): <T>(change: ApiChange) => Promise<T> {
  const { companyId } = useMe()
  const last = useRef({ sent: "", key: "" })
  return async <T>(change: ApiChange): Promise<T> => {
    const { method, path, body } = change
    const sent = JSON.stringify(change)
    // The same again, after a line that was cut, is the same request: it is charged once.
    if (last.current.sent !== sent) last.current = { sent, key: crypto.randomUUID() }
    const done = await callConsole<T>(method, `/${companyId}${path}`, body, {
      "idempotency-key": last.current.key,
    })
    last.current = { sent: "", key: "" }
    await queryClient.invalidateQueries({ queryKey: [companyId] })
    return done
  }
}
