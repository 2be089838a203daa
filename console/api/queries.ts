import { QueryClient } from "@tanstack/react-query"
import { Refused } from "./refused.ts"

/** All that was asked, and is shown until it is asked again. */
export const asked: QueryClient = new QueryClient({
  defaultOptions: {
    queries: {
      staleTime: 15_000,
      // What the server refused it refuses again; only a cut line is tried once more.
      retry: (times, error) => times < 1 && !(error instanceof Refused && error.status > 0),
    },
  },
})
