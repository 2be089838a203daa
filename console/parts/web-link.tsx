import { Anchor } from "@mantine/core"
import styles from "./parts.module.css"

/** A stored address: a link if it is a web address, else a text. */
export function WebLink({ address }: { readonly address: string | null }) {
  if (address === null) return <>–</>
  if (!isWebAddress(address)) return <span className={styles.long}>{address}</span>
  return (
    <Anchor
      className={styles.long}
      inherit
      href={address}
      target="_blank"
      rel="noopener noreferrer nofollow"
    >
      {address}
    </Anchor>
  )
}

function isWebAddress(address: string): boolean {
  return URL.canParse(address) && /^https?:$/.test(new URL(address).protocol)
}
