/** A box that exists only as facts, with an open port, for read models. */
import { boxStreamOf } from "../../domain/boxes/aggregates.ts"
import type { BoxCommand } from "../../domain/boxes/box-commands.ts"
import { causedBy } from "../../src/frame/kernel/envelope.ts"
import { newId } from "../../src/frame/kernel/ids.ts"
import type { Company, World } from "../support/world.ts"
import { startBoxCommand } from "./box-commands.ts"

/** Records that a company has a running box. */
export async function exerciseBoxes({ ports }: World, company: Company): Promise<void> {
  const { companyId, ownerId: personId, keyId } = company
  const boxId = newId("box")
  const seal = (text: string) => ports.sealing.seal(companyId, personId, text)
  const who = { boxId, keyId, personId }
  const steps: readonly BoxCommand[] = [
    startBoxCommand({ ...who, branch: await seal("main"), label: await seal("A box") }),
    { type: "MarkBoxRunning", boxId, commit: null, host: ports.boxHost.hostId },
    { type: "OpenPreview", ...who, port: 3_000, token: await seal("token"), tag: boxId },
  ]
  for (const step of steps) {
    await ports.runner.execute(boxStreamOf(companyId, boxId), step, causedBy("test box"))
  }
}
