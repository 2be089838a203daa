/** The MCP server: routes that are tools, for AI clients. */
import type { Slice } from "../frame/slice.ts"
import { mcpRoute } from "./mcp-route.ts"

/** Another door to the routes of all slices. */
export const mcpSlice: Slice = {
  name: "mcp",
  groups: {
    mcp: `The tools of AI clients, by the [Model Context Protocol](https://modelcontextprotocol.io): JSON-RPC 2.0 over
streamable HTTP, answered as plain JSON. A client is given this address and a person's key as Bearer token.

\`tools/list\` tells the tools with their arguments. Each call of a tool is a call of its route by the same key: it is
counted, limited, refused and answered as that, and its answer comes as text. \`isError\` says that the route answered with
a status from 400 on.`,
  },
  deriveRoutes: (routes) => [mcpRoute(routes)],
}
