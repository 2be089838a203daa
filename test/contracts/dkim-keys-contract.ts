/** What every implementation of the port of signing keys does: one suite for all. */
import { createPrivateKey, createPublicKey } from "node:crypto"
import { expect, it } from "vitest"
import type { DkimKeys } from "../../adapters/dkim-keys/port.ts"

const OWNER = { companyId: "co_aaaaaa", sendingDomainId: "snd_1" } as const

/** Adds the suite for one implementation. */
export function dkimKeysContract(
  open: () => { readonly keys: DkimKeys; readonly again: () => DkimKeys },
): void {
  it("makes one key of 2,048 bits, whoever asks, and signs with its other half", async () => {
    const { keys, again } = open()
    const made = await Promise.all([keys.create(OWNER), again().create(OWNER), keys.create(OWNER)])
    const [first] = made
    expect(first?.selector).toBe("cp1")
    expect(made).toEqual([first, first, first])
    const found = await again().find(OWNER)
    const key = createPrivateKey(found?.privateKey ?? "")
    expect(key.asymmetricKeyDetails?.modulusLength).toBe(2_048)
    const derived = createPublicKey(key).export({ type: "spki", format: "der" }).toString("base64")
    expect(derived).toBe(first?.publicKey)
  })

  it("has another key for each sending domain and company", async () => {
    const { keys } = open()
    const owners = [
      OWNER,
      { ...OWNER, sendingDomainId: "snd_2" },
      { ...OWNER, companyId: "co_bbbbbb" as const },
    ]
    const made = await Promise.all(owners.map((owner) => keys.create(owner)))
    expect(new Set(made.map(({ publicKey }) => publicKey)).size).toBe(3)
  })

  it("has none for whom it was not made, or any more", async () => {
    const { keys, again } = open()
    expect(await keys.find({ ...OWNER, sendingDomainId: "snd_none" })).toBeNull()
    const owner = { ...OWNER, sendingDomainId: "snd_gone" }
    const { publicKey } = await keys.create(owner)
    await keys.remove(owner)
    await keys.remove(owner)
    expect(await again().find(owner)).toBeNull()
    expect((await keys.create(owner)).publicKey).not.toBe(publicKey)
  })
}
