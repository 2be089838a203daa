/** A provider that is not there: its settings, its simulator, and the door behind which it answers. */
import { z } from "zod"
import type { Simulator } from "../../adapters/providers/simulators/port.ts"
import type { Door } from "../../src/frame/http/hosts.ts"
import type { Ports } from "../../src/frame/ports.ts"
import type { Provider } from "../../src/frame/provider.ts"
import { settings } from "../../src/frame/settings.ts"

/** Answers what it is asked, louder or not. */
interface Echo {
  readonly say: (text: string) => Promise<string>
}

declare module "../../src/frame/ports.ts" {
  interface ProvidedPorts {
    readonly echo: Echo
  }
}

const ECHO = { name: "echo", outcomes: ["loud"] } as const satisfies Simulator

/** What it reads from the environment. */
export const echoSettings = settings({
  from: import.meta.url,
  schema: z.object({
    ECHO_PREFIX: z.string().default(""),
    ECHO_SECRET: z.string().min(4, "must have four letters").optional(),
  }),
  secret: ["ECHO_SECRET"],
  faults: (given) =>
    given["ECHO_PREFIX"] !== undefined && given["ECHO_SECRET"] === undefined
      ? ["ECHO_PREFIX is nothing without ECHO_SECRET: set both."]
      : [],
})

/** What opens it. */
export const echoProviders: readonly Provider[] = [
  {
    from: import.meta.url,
    name: "echo",
    simulator: ECHO,
    open: async ({ settings: read, simulators }) => {
      const { ECHO_PREFIX: prefix } = read(echoSettings)
      const say = async (text: string) => {
        const answer = `${prefix}${text}`
        return (await simulators.next(ECHO)) === "loud" ? answer.toUpperCase() : answer
      }
      return { echo: { say } }
    },
  },
]

/** Its door. */
export const echoDoors = ({ echo }: Ports): readonly Door[] => [
  {
    name: "echoes",
    takes: (host) => host.endsWith(".echo.test"),
    serve: (_request, response) => {
      void echo.say("door").then((text) => response.end(text))
    },
    upgrade: (_request, socket, head) => {
      socket.write(
        "HTTP/1.1 101 Switching Protocols\r\nconnection: upgrade\r\nupgrade: echo\r\n\r\n",
      )
      // What came right behind the request is the first of what is said.
      socket.write(head)
      socket.pipe(socket)
    },
  },
]
