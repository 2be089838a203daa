/** A program that runs as an ordinary user and makes boxes, on requests of its parent. */
import type { BoxId } from "../../domain/boxes/ids.ts"
import { openBubblewrap } from "../../adapters/sandbox/boxhost/bubblewrap/bubblewrap.ts"
import { machinePacer } from "../../adapters/machine/clock/database-clock.ts"

/** A request of the parent; the answer has the same number. */
interface HostRequest {
  readonly number: number
  readonly what: string
  readonly boxId: BoxId
  readonly line: string
  readonly timeoutMs: number
}

const host = await openBubblewrap({
  runDir: process.argv[2] ?? "",
  blockedNetworks: async () => [],
  pacer: machinePacer,
})

async function answer({ boxId, line, timeoutMs, what }: HostRequest): Promise<unknown> {
  if (what === "probe") return host.probe()
  if (what === "sweep") return host.sweep()
  if (what === "list") return host.listBoxes()
  if (what === "start") {
    const plan = {
      companyId: "co_boxes",
      size: "small",
      leaseMs: 300_000,
      environment: {},
    } as const
    return (await (await host.start({ ...plan, boxId })).readHealth()).network
  }
  const box = await host.find(boxId)
  if (box === null) return null
  if (what === "stop") return box.stop().then(() => true)
  const ran = await box.run(["sh", "-c", line], {
    timeoutMs,
    maxOutputBytes: 10_000,
    isActivity: true,
  })
  const [stdout, stderr] = [ran.stdout, ran.stderr].map((bytes) => Buffer.from(bytes).toString())
  return { exitCode: ran.exitCode, stdout, stderr }
}

process.on("message", (request: HostRequest) => {
  void answer(request).then(
    (answered) => process.send?.({ number: request.number, answered }),
    (error: unknown) => process.send?.({ number: request.number, failed: String(error) }),
  )
})
process.on("disconnect", () => process.exit())
process.send?.({ number: 0, answered: process.getuid?.() })
