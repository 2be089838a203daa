/** A server of mail on this machine that breaks a talk off, or falls silent, wherever a test has it. */
import { once } from "node:events"
import type { AddressInfo, Socket } from "node:net"
import { createServer } from "node:net"

/** What it is asked for, in order; `within` is amid the data, `dot` behind it. */
export const STEPS = ["banner", "EHLO", "MAIL", "RCPT", "DATA", "within", "dot"] as const

/** Where it is in a talk. */
export type Step = (typeof STEPS)[number]

/** What it does there: `half` breaks off in the middle of its answer. */
export interface Breaking {
  readonly at: Step
  readonly how: "cut" | "half" | "hang"
}

/** The server. */
export interface TalkStand {
  readonly url: string
  /** The mails that it has as a whole, whatever it said to them. */
  readonly copies: { readonly to: string; readonly bytes: string }[]
  breaking: Breaking | null
  /** Ends the talks that are under way, as a server does with those that say nothing. */
  readonly hangUp: () => Promise<void>
  readonly close: () => Promise<void>
}

const SAYS = {
  banner: "220 stand ESMTP",
  EHLO: "250 stand",
  MAIL: "250 sender",
  RCPT: "250 recipient",
  DATA: "354 go on",
  within: null,
  dot: "250 2.0.0 taken",
} satisfies Record<Step, string | null>

const END = "\r\n.\r\n"

/** Opens it at a free port. */
export async function openTalkStand(): Promise<TalkStand> {
  const sockets = new Set<Socket>()
  const server = createServer((socket) => {
    sockets.add(socket)
    socket.on("close", () => sockets.delete(socket))
    socket.on("error", () => socket.destroy())
    talk(stand, socket)
  })
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve))
  const { port } = server.address() as AddressInfo
  const hangUp = async () => {
    const ended = [...sockets].map((socket) => once(socket.end(), "close"))
    await Promise.all(ended)
  }
  const stand: TalkStand = {
    url: `smtp://127.0.0.1:${port}`,
    copies: [],
    breaking: null,
    hangUp,
    close: async () => {
      for (const socket of sockets) socket.destroy()
      await new Promise((resolve) => server.close(resolve))
    },
  }
  return stand
}

function talk(stand: TalkStand, socket: Socket): void {
  let [read, to, isData] = ["", "", false]
  const say = (step: Step) => {
    const text = SAYS[step]
    const { breaking } = stand
    if (breaking?.at !== step) {
      if (text !== null) socket.write(`${text}\r\n`)
    } else if (breaking.how === "half") socket.end((text ?? "").slice(0, 6))
    else if (breaking.how === "cut") socket.destroy()
  }
  const line = (text: string) => {
    const word = text.slice(0, 4)
    if (word === "RCPT") to = /<(.*)>/.exec(text)?.[1] ?? ""
    if (word === "QUIT") socket.end("221 bye\r\n")
    else if (word === "RSET") socket.write("250 reset\r\n")
    else if (word === "EHLO" || word === "MAIL" || word === "RCPT" || word === "DATA") say(word)
    isData = word === "DATA" && stand.breaking?.at !== "DATA"
  }
  say("banner")
  socket.on("data", (piece) => {
    read += piece.toString("latin1")
    if (isData) say("within")
    if (isData && stand.breaking?.at === "within") return
    for (;;) {
      const end = read.indexOf(isData ? END : "\r\n")
      if (end < 0 || socket.destroyed) return
      const text = read.slice(0, end)
      read = read.slice(end + (isData ? END.length : 2))
      if (isData) {
        isData = false
        stand.copies.push({ to, bytes: text })
        say("dot")
      } else line(text)
    }
  })
}
