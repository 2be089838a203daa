/** The MCP server: routes as tools for AI clients. */
import type { Slice } from "../frame/slice.ts"
import { mcpRoute } from "./mcp-route.ts"

/** Offers the tool routes of all slices to AI clients. */
export const mcpSlice: Slice = {
  name: "mcp",
  groups: {
    mcp: `Tools for AI clients by the [Model Context Protocol](https://modelcontextprotocol.io): JSON-RPC 2.0 over
streamable HTTP, answered as plain JSON. Configure a client with this address and a person's key as Bearer token.

\`tools/list\` returns the tools with their arguments. A tool call is a call of its route with the same key: it is
counted, limited, refused and answered the same way, and the answer is returned as text. \`isError\` is true if the
route's status is 400 or higher.`,
  },
  deriveRoutes: (routes) => [mcpRoute(routes)],
}
