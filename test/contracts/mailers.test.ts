import type { SimulatorStore, Simulators } from "../../adapters/providers/simulators/port.ts"
import { describe, expect, it, afterEach } from "vitest"
import { isPublicAddress } from "../../adapters/providers/addresses/public-addresses.ts"
import type { Resolver } from "../../adapters/providers/dns/port.ts"
import { openSimulatedMailer } from "../../adapters/providers/mailer/simulator.ts"
import { openDirectDelivery } from "../../adapters/providers/mailer/direct-delivery.ts"
import type { MailEnvelope, DeliveryAnswer, Mailer } from "../../adapters/providers/mailer/port.ts"
import { openMailRelay } from "../../adapters/providers/mailer/mail-relay.ts"
import {
  ProviderUnavailable,
  ProviderOutcomeUnknown,
} from "../../adapters/providers/provider-errors.ts"
import { openMemorySealing } from "../../adapters/sealing/postgres.ts"
import type { AddressTag } from "../../domain/email/ids.ts"
import type { SmtpRules, SmtpServerFixture } from "../email/smtp-server.ts"
import { openSmtpServer } from "../email/smtp-server.ts"
import { partialFake } from "../support/partial-fake.ts"

/** What the other side does next. */
type Other = "takes" | "rejects" | "refuses" | "defers" | "is silent" | "is away"

/** A mailer, and who is behind it. */
interface MailerUnderTest {
  readonly hand: Mailer["deliver"]
  readonly isDelivered: boolean
  readonly other: (does: Other) => Promise<void>
  /** The bytes that arrived, in order; null where it does not keep them as they are. */
  readonly arrived: (() => readonly Buffer[]) | null
}

/** An envelope for somebody. */
const envelopeTo = (to: string): MailEnvelope => ({
  companyId: "co_aaaaaa",
  mailId: "mail_1",
  addressTag: "aa" as AddressTag,
  from: "b.1.0.ab@cp-bounce.mail.example.com",
  to,
})

/** A mail as bytes. */
const BYTES = Buffer.from(
  "From: a@mail.example.com\r\nTo: ada@example.com\r\nSubject: Hi\r\n\r\n.\r\n..dots\r\nHi\r\n",
)

/** Adds the suite for one mailer. */
function mailerContract(name: string, open: () => Promise<MailerUnderTest>): void {
  describe(name, () => {
    const came = async (does: Other): Promise<DeliveryAnswer> => {
      const { hand, other } = await open()
      await other(does)
      return hand(envelopeTo("ada@example.com"), BYTES)
    }

    it("hands bytes over as they are", async () => {
      const { hand, other, isDelivered, arrived } = await open()
      await other("takes")
      const answer = await hand(envelopeTo("ada@example.com"), BYTES)
      expect(answer).toEqual({ answer: "accepted", isDelivered })
      if (arrived !== null) expect(arrived().map(String)).toEqual([BYTES.toString()])
    })

    it("tells a recipient who is not there from a mail that is not wanted", async () => {
      expect(await came("rejects")).toMatchObject({ answer: "rejected" })
      expect(await came("refuses")).toMatchObject({ answer: "refused" })
    })

    it("knows that nothing was taken where it is put off, or nobody is there", async () => {
      expect(await came("defers")).toMatchObject({ answer: "deferred" })
      expect(await came("is away")).toEqual({ answer: "deferred", code: "no_connection" })
    })

    it("does not know what became of it behind a silence", async () => {
      expect(await came("is silent")).toEqual({ answer: "unknown" })
    })
  })
}

const closing: (() => Promise<void>)[] = []
afterEach(async () => {
  await Promise.all(closing.splice(0).map((close) => close()))
})

const RULES: Readonly<Record<Exclude<Other, "is away">, SmtpRules>> = {
  takes: {},
  rejects: { recipient: () => 550 },
  refuses: { data: () => 554 },
  defers: { recipient: () => 451 },
  "is silent": { data: () => "cut" },
}

async function stand(): Promise<SmtpServerFixture> {
  const opened = await openSmtpServer()
  closing.push(opened.close)
  return opened
}

/** The mailer that talks to a server of mail. */
function underTest(
  server: SmtpServerFixture,
  isDelivered: boolean,
  hand: MailerUnderTest["hand"],
): MailerUnderTest {
  return {
    hand,
    isDelivered,
    other: async (does) => {
      if (does === "is away") await server.close()
      else server.rules = RULES[does]
    },
    arrived: () => server.arrived.map(({ bytes }) => bytes),
  }
}

type Zone = Readonly<
  Record<string, readonly { type: string; content: string; priority?: number }[]>
>

function resolverOf(zone: Zone): Pick<Resolver, "query"> {
  return {
    query: async (name, type) => {
      if (name.startsWith("broken.")) throw new ProviderUnavailable("it fails")
      const there = zone[name]
      const answers = (there ?? [])
        .filter((one) => one.type === type)
        .map((one) => ({ priority: null, ...one, type, name, ttl: 60 }))
      const code = there === undefined ? "NXDOMAIN" : "NOERROR"
      return { code, isAuthoritative: false, answers: answers, authorities: [] }
    },
  }
}

const direct = (zone: Zone, port: number) =>
  openDirectDelivery({
    resolver: resolverOf(zone),
    hostName: () => "ledger.test",
    port,
    isAllowed: () => true,
  })

const HERE: Zone = {
  "example.com": [{ type: "MX", content: "mx.example.com", priority: 10 }],
  "mx.example.com": [{ type: "A", content: "127.0.0.1" }],
}

mailerContract("a relay", async () => {
  const server = await stand()
  const relay = openMailRelay({ url: server.url, warn: () => undefined })
  closing.push(relay.close)
  return underTest(server, false, relay.deliver)
})

mailerContract("the recipients' own servers", async () => {
  const server = await stand()
  return underTest(server, true, direct(HERE, server.port).deliver)
})

mailerContract("the built-in mailer", async () => {
  let outcome = "ok"
  const does: Readonly<Record<Other, string>> = {
    takes: "ok",
    rejects: "bounce",
    refuses: "refuse",
    defers: "defer",
    "is silent": "silent",
    "is away": "unavailable",
  }
  const { deliver } = openSimulatedMailer({
    simulatorMemory: partialFake<SimulatorStore>({
      recordsOf: () => ({
        update: async (_n: string, _c: string, to: (k: null) => object) => to(null),
      }),
    }),
    simulators: partialFake<Simulators>({ nextOutcome: async () => outcome }),
    pacer: { elapsedMs: () => 0, pause: async () => undefined },
    sealing: openMemorySealing(),
  })
  return {
    hand: deliver,
    isDelivered: true,
    arrived: null,
    other: async (next) => {
      outcome = does[next]
    },
  }
})

describe("straight to the recipients' servers", () => {
  const handTo = (zone: Zone, to = "ada@example.com", port = 1) =>
    direct(zone, port).deliver(envelopeTo(to), BYTES)

  it("asks in the order that a domain says, and goes on where one is away", async () => {
    const server = await stand()
    const zone: Zone = {
      "example.com": [
        { type: "MX", content: "second.example.com", priority: 20 },
        { type: "MX", content: "first.example.com", priority: 10 },
      ],
      "first.example.com": [{ type: "A", content: "127.0.0.2" }],
      "second.example.com": [{ type: "A", content: "127.0.0.1" }],
    }
    expect(await handTo(zone, "ada@example.com", server.port)).toMatchObject({ answer: "accepted" })
    expect(server.arrived).toHaveLength(1)
  })

  it("goes on where a server cannot be looked up, and tries later where none can", async () => {
    const server = await stand()
    const mx = (host: string, priority: number) =>
      ({ type: "MX", content: `${host}.example.com`, priority }) as const
    const second = { "second.example.com": [{ type: "A", content: "127.0.0.1" }] }
    const zone: Zone = { "example.com": [mx("broken", 10), mx("second", 20)], ...second }
    const handOver = (of: Zone) => handTo(of, "ada@example.com", server.port)
    expect(await handOver(zone)).toMatchObject({ answer: "accepted" })
    expect(await handOver({ "example.com": [mx("broken", 10)] })).toEqual({
      answer: "deferred",
      code: "4.4.3",
    })
  })

  it("goes to the domain's own address where it names no server", async () => {
    const server = await stand()
    const zone: Zone = { "example.com": [{ type: "A", content: "127.0.0.1" }] }
    expect(await handTo(zone, "ada@example.com", server.port)).toMatchObject({ answer: "accepted" })
  })

  it.each([
    [{ "example.com": [{ type: "MX", content: "", priority: 0 }] }, "5.1.10"],
    [{ "example.com": [{ type: "MX", content: ".", priority: 0 }] }, "5.1.10"],
    [{}, "5.1.2"],
    [{ "example.com": [{ type: "MX", content: "gone.example.com", priority: 0 }] }, "5.4.4"],
  ])("rejects whom no server takes mail for: %#", async (zone, code) => {
    expect(await handTo(zone as Zone)).toEqual({ answer: "rejected", code })
  })

  it("waits where nobody answers for the names", async () => {
    const query = async () => {
      throw new ProviderOutcomeUnknown("nobody")
    }
    const { deliver } = openDirectDelivery({ resolver: { query }, hostName: () => "ledger.test" })
    expect(await deliver(envelopeTo("a@example.com"), BYTES)).toMatchObject({ answer: "deferred" })
  })

  it.each([
    "127.0.0.1",
    "10.0.0.1",
    "169.254.169.254",
    "192.168.0.1",
    "100.64.0.1",
    "0.0.0.0",
    "::1",
    "fe80::1",
    "fc00::1",
    "::ffff:127.0.0.1",
    "224.0.0.1",
    "mx.example.com",
    "127.1",
  ])("talks to no address of a network of its own: %s", async (address) => {
    expect(isPublicAddress(address)).toBe(false)
    const server = await stand()
    const zone: Zone = { "example.com": [{ type: "A", content: address }] }
    const resolver = resolverOf(zone)
    const { deliver } = openDirectDelivery({
      resolver,
      hostName: () => "ledger.test",
      port: server.port,
    })
    expect(await deliver(envelopeTo("a@example.com"), BYTES)).toEqual({
      answer: "rejected",
      code: "5.4.4",
    })
    expect(server.activity.connections).toBe(0)
  })

  it.each(["192.0.43.10", "2606:4700::1"])("talks to public ones: %s", (address) => {
    expect(isPublicAddress(address)).toBe(true)
  })
})

describe("a relay", () => {
  it("that takes no password of ours is a fault of the settings, and not of the mail", async () => {
    const server = await stand()
    server.rules = { sender: () => 530 }
    const warned: string[] = []
    const { deliver, close } = openMailRelay({
      url: server.url,
      warn: (message) => warned.push(message),
    })
    closing.push(close)
    const answer = await deliver(envelopeTo("ada@example.com"), BYTES)
    expect(answer).toEqual({ answer: "deferred", code: "settings" })
    expect(warned).toEqual([
      "the mail relay rejected our settings; check the user, password and port of MAIL_URL",
    ])
  })

  it("without STARTTLS gets neither the password nor the mail, unless it is this machine", async () => {
    const server = await stand()
    const url = `smtp://name:password@localhost.localdomain:${server.port}`
    const { deliver, close } = openMailRelay({ url, warn: () => undefined })
    closing.push(close)
    expect(await deliver(envelopeTo("ada@example.com"), BYTES)).toMatchObject({
      answer: "deferred",
    })
    expect(server.arrived).toEqual([])
  })
})
