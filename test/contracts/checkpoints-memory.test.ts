import { openMemoryCheckpoints } from "../../adapters/checkpoints/memory.ts"
import { checkpointsContract } from "./checkpoints-contract.ts"

checkpointsContract("checkpoints in memory", async () => openMemoryCheckpoints())
