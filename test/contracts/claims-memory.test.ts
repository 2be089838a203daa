import { openMemoryClaims } from "../../adapters/claims/memory.ts"
import { claimsContract } from "./claims-contract.ts"

claimsContract("claims in memory", async () => openMemoryClaims())
